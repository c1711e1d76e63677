"""Claim the schedules that are due: only the columns that firing needs, as tuples instead of models."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from common.database.postgres import blames_no_row, column, query
from notifications.deliveries.outbox import nag_of, order_of
from notifications.models import sort_channels
from people import quiet
from people.models import DISPLAY_NAME_SQL
from schedules import rules
from schedules.models import Schedule
from schedules.parts.slots import Slots
from work.models.hold import OFF

# Seconds after which no further schedule of a batch that failed is run alone: beat must show heartbeats meanwhile.
_ALONE = 5.0


class Due(NamedTuple):
    """A schedule whose next slot is due, locked by the current transaction. Instants are aware UTC.

    `rule`, `data` and `job_payload` are JSON, `name` the person's, `spread`, `grace` and `stale_after` are seconds.
    `hours` are the person's for `quiet.read`; `persons_zone` and `language` are theirs, `escalate_after` in
    minutes. `settled` are the slots from the next one on that have an occurrence already.
    """

    id: UUID
    user_id: int
    name: str
    title: str
    body: str
    kind: str
    rule: str
    time_zone: str
    starts_at: datetime | None
    ends_at: datetime | None
    excluded: list[date]
    max_count: int | None
    after_done: bool
    spread: int
    misfire: str
    grace: int
    stale_after: int | None
    version: int
    next_fire_at: datetime
    fired_count: int
    periodic_task_id: int | None
    urgent: bool
    hours: str | None
    persons_zone: str
    language: str
    channel_order: list[UUID]
    escalate_after: int | None
    nag_every: int | None
    nag_times: int | None
    nag_channel_ids: list[UUID]
    early: list[int]
    next_early_at: datetime | None
    category: str
    data: str | None
    job_kind: str
    job_payload: str | None
    connection_id: UUID | None
    on_error: str
    errors_allowed: int
    audience: str
    audience_key: str
    local_time: bool
    tags: list[str]
    settled: list[datetime]

    def slots(self) -> Slots:
        """Without a limit: only firing knows which slots count. Raises InvalidRule for an unreadable rule."""
        rule = json.loads(self.rule)
        timetable = rules.stored(self.kind, rule, self.time_zone, self.starts_at, self.ends_at, self.excluded)
        return Slots(timetable, settled=self.settled)

    def expires_at(self, slot: datetime) -> datetime | None:
        return None if self.stale_after is None else slot + timedelta(seconds=self.stale_after)

    def options(self) -> dict[str, Any]:
        plain = {"urgent": self.urgent, "category": self.category, "data": self.data}
        return plain | {**order_of(self), **nag_of(self)}

    def quiet_hours(self, instant: datetime) -> quiet.Wait | None:
        return None if self.urgent else quiet.wait(instant, quiet.read(self.hours))


# The fields that are not columns of the schedule.
_OTHERWISE = {
    "name": DISPLAY_NAME_SQL,
    **{name: f"s.{name}::text" for name in ("rule", "data", "job_payload")},
    "language": "u.language",
    "hours": quiet.columns("u"),
    "persons_zone": "u.time_zone",
    "settled": """ARRAY(
        SELECT o.scheduled_for FROM schedules_occurrence o
         WHERE o.schedule_id = s.id AND o.scheduled_for >= s.next_fire_at AND o.scheduled_for < '9999-01-01Z')""",
}
_READ = f"""
SELECT {", ".join(f"{_OTHERWISE.get(name, f's.{name}')} AS {name}" for name in Due._fields)}
  FROM schedules_schedule s JOIN people_user u ON u.id = s.user_id
 WHERE """  # noqa: S608 - a constant


def take(now: datetime, only: Collection[UUID] | None, limit: int, even_on_hold: bool = False) -> list[Due]:
    """Lock up to `limit` schedules that are due at `now` and not locked, oldest first; with `only`, of these."""
    unless_on_hold = "" if even_on_hold else f"AND {OFF}"
    return _take(f"s.next_fire_at <= %(now)s {unless_on_hold}", "s.next_fire_at", now, only, limit)


def take_early(now: datetime, only: Collection[UUID] | None, limit: int) -> list[Due]:
    """As `take`, those with an early message and whose slot is still ahead."""
    due = f"s.next_early_at <= %(now)s AND s.next_fire_at > %(now)s AND {OFF}"
    return _take(due, "s.next_early_at", now, only, limit)


def _take(due: str, order: str, now: datetime, only: Collection[UUID] | None, limit: int) -> list[Due]:
    among = "" if only is None else "AND s.id = ANY(%(only)s::uuid[])"
    statement = f"{_READ} {due} {among} ORDER BY {order} LIMIT %(limit)s FOR NO KEY UPDATE OF s SKIP LOCKED"
    return query(statement, {"now": now, "only": column(only or ()), "limit": limit}, Due)


def ids(now: datetime, only: Collection[UUID] | None, limit: int) -> list[UUID]:
    """The ids of up to `limit` schedules that are due at `now`, oldest first. Reads no damaged column."""
    due = Schedule.objects.filter(next_fire_at__lte=now)
    if only is not None:
        due = due.filter(id__in=only)
    return list(due.order_by("next_fire_at").values_list("id", flat=True)[:limit])


def one_by_one(ids: Iterable[UUID], run: Callable[[UUID], int], failed: Callable[[UUID, str], object]) -> int:
    """Run each schedule of a batch that failed, until that has taken `_ALONE` seconds; the sum of the results.

    `failed` gets each that fails alone, too, with the name of the error.
    """
    total, end = 0, time.monotonic() + _ALONE
    for schedule_id in ids:
        try:
            total += run(schedule_id)
        except Exception as error:
            if blames_no_row(error):
                raise
            failed(schedule_id, type(error).__name__)
        if time.monotonic() > end:
            break
    return total


def as_if_due(schedule_id: UUID, slot: datetime) -> Due:
    """A schedule that the caller has locked, as if `slot` were its next one. Urgent: a person waits for it.

    Raises IndexError if there is no such schedule.
    """
    return query(_READ + "s.id = %s", [schedule_id], Due)[0]._replace(next_fire_at=slot, urgent=True)


_CHANNELS = """
SELECT link.schedule_id, c.id, c.provider
  FROM unnest(%s::uuid[]) AS due(id)
  JOIN schedules_schedule_channels link ON link.schedule_id = due.id
  JOIN notifications_channel c ON c.id = link.channel_id AND c.removed_at IS NULL
"""


def channels_of(schedules: Collection[Due]) -> dict[UUID, list[tuple[UUID, str]]]:
    """The channels (id, provider) of each schedule that are not removed, in its order."""
    channels: dict[UUID, list[tuple[UUID, str]]] = defaultdict(list)
    for row in query(_CHANNELS, [column(schedule.id for schedule in schedules)]):
        channels[row.schedule_id].append((row.id, row.provider))
    return {one.id: sort_channels(one.channel_order, channels[one.id], itemgetter(0)) for one in schedules}
