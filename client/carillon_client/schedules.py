"""Schedules: the reminders of the pages."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from carillon_client.connection import Resource
from carillon_client.documents import (
    BulkResult,
    CheckNow,
    Explanation,
    Holiday,
    HolidayFields,
    JobKind,
    Occurrence,
    Preview,
    QuickDraft,
    Schedule,
    ScheduleFields,
    Slot,
)


class Schedules(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(
        self,
        *,
        state: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        search: str | None = None,
        due_before: datetime | None = None,
    ) -> Iterator[Schedule]:
        """Newest first; those that are archived only with that `state`."""
        due = instant(due_before) if due_before else None
        result = {"state": state, "category": category, "tag": tag, "search": search, "due_before": due}
        return self._connection.pages("/schedules", **result)

    def create(self, *, key: str | None = None, **fields: Unpack[ScheduleFields]) -> Schedule:
        """`key` is the Idempotency-Key: the same call with the same key makes one schedule."""
        return self._connection.post("/schedules", fields, key=key)

    def preview(self, count: int = 10, **fields: Unpack[ScheduleFields]) -> Preview:
        """When it would fire, and with which text. Nothing is saved."""
        return self._connection.post("/schedules/preview", fields, count=count)

    def quick_add(self, text: str, time_zone: str | None = None) -> QuickDraft:
        """The meaning of a line, such as “water the plants every Sunday 18:00”. Nothing is saved: see `create`."""
        return self._connection.post("/schedules/quick-add", {"text": text, "time_zone": time_zone})

    def read(self, schedule_id: str) -> Schedule:
        return self._connection.get(f"/schedules/{schedule_id}")

    def replace(self, schedule_id: str, version: int | str | None = None, **fields: Unpack[ScheduleFields]) -> Schedule:
        """Fields that are not given get their defaults."""
        return self._connection.change("PUT", f"/schedules/{schedule_id}", fields, version)

    def change(self, schedule_id: str, version: int | str | None = None, **fields: Unpack[ScheduleFields]) -> Schedule:
        """Fields that are not given stay as they are."""
        return self._connection.change("PATCH", f"/schedules/{schedule_id}", fields, version)

    def delete(self, schedule_id: str, version: int | str | None = None) -> None:
        self._connection.change("DELETE", f"/schedules/{schedule_id}", version=version)

    def restore(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/restore")

    def pause(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/pause")

    def resume(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/resume")

    def archive(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/archive")

    def unarchive(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/unarchive")

    def snooze(self, schedule_id: str, until: datetime) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/snooze", {"snooze_ends_at": instant(until)})

    def done(self, schedule_id: str) -> Schedule:
        """Acknowledge its newest message; with `after_done` the next run is counted from now."""
        return self._connection.post(f"/schedules/{schedule_id}/done")

    def undo_done(self, schedule_id: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/undo-done")

    def skip(self, schedule_id: str, slot_at: str) -> Schedule:
        """`slot_at` is the `next_run_at` that you have read."""
        return self._connection.post(f"/schedules/{schedule_id}/skip", {"slot_at": slot_at})

    def unskip(self, schedule_id: str, slot_at: str) -> Schedule:
        return self._connection.post(f"/schedules/{schedule_id}/unskip", {"slot_at": slot_at})

    def run(self, schedule_id: str, *, key: str | None = None) -> Occurrence:
        """Send once, now."""
        return self._connection.post(f"/schedules/{schedule_id}/run", key=key)

    def upcoming(self, schedule_id: str, count: int = 10) -> Sequence[Slot]:
        return self._connection.get(f"/schedules/{schedule_id}/upcoming", count=count)["items"]

    def occurrences(self, schedule_id: str) -> Iterator[Occurrence]:
        """The latest slot first."""
        return self._connection.pages(f"/schedules/{schedule_id}/occurrences")

    def explain(self, schedule_id: str) -> Iterator[Slot]:
        """The outcome of each slot and its reason, newest first."""
        return self._connection.pages(f"/schedules/{schedule_id}/explain")

    def explanation(self, schedule_id: str) -> Explanation:
        """The first page of `explain`, with the slots that are `coming`."""
        return self._connection.get(f"/schedules/{schedule_id}/explain")

    def bulk(self, schedule_ids: Sequence[str], action: str, tag: str = "", *, key: str | None = None) -> BulkResult:
        """`pause`, `resume`, `tag`, `untag`, `archive`, `unarchive` or `delete` up to 5,000 at once."""
        body = {"ids": list(schedule_ids), "action": action, "tag": tag}
        return self._connection.post("/schedules/bulk", body, key=key)

    def check(self, schedule_id: str) -> CheckNow:
        """Return what its job finds now. Sends nothing. Where `outcome` is `checking`, see `read_check`."""
        return self._connection.post(f"/schedules/{schedule_id}/check")

    def check_job(self, job: Mapping[str, Any], title: str = "", body: str = "") -> CheckNow:
        """Return what a job would find that no schedule has yet."""
        return self._connection.post("/schedules/check", {"job": dict(job), "title": title, "body": body})

    def read_check(self, check_id: str) -> CheckNow:
        return self._connection.get(f"/checks/{check_id}")


class JobKinds(Resource):
    def list(self) -> Iterator[JobKind]:
        """The kinds of check that a schedule can make before it speaks, each with the fields of its payload."""
        return self._connection.pages("/job-kinds")


class Holidays(Resource):
    """Times in which schedules send nothing."""

    def list(self) -> Iterator[Holiday]:
        """Newest first."""
        return self._connection.pages("/holidays")

    def create(self, *, key: str | None = None, **fields: Unpack[HolidayFields]) -> Holiday:
        return self._connection.post("/holidays", fields, key=key)

    def read(self, holiday_id: str) -> Holiday:
        return self._connection.get(f"/holidays/{holiday_id}")

    def replace(self, holiday_id: str, **fields: Unpack[HolidayFields]) -> Holiday:
        return self._connection.change("PUT", f"/holidays/{holiday_id}", fields)

    def end(self, holiday_id: str) -> Holiday:
        """Before its last day. Schedules fire again from now on."""
        return self._connection.post(f"/holidays/{holiday_id}/end")

    def delete(self, holiday_id: str) -> None:
        """Schedules fire again from now on."""
        self._connection.change("DELETE", f"/holidays/{holiday_id}")


def instant(moment: datetime) -> str:
    """An aware moment as RFC 3339 in UTC. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone: make it aware")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
