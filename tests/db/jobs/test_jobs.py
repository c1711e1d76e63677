"""A job from its slot to its decision: one decision a slot, said once, with its evidence."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from common.parsing import pool
from common.redis import served_queues
from config import startup
from config.environment.env import Misconfigured
from jobs.checks import deciding
from jobs.checks.kind import JOB, CheckKind
from jobs.kinds.base import Nothing
from jobs.models import Connection, Job, Memory
from jobs.models.job import OnError
from notifications.models import Delivery, Notification
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import NINE, check, make_channel, make_connection, make_job_schedule, make_user
from work.answers import Done
from work.engine.claim import claim
from work.reasons import NO_REASON


def fired(payload: dict[str, Any], **overrides: Any) -> tuple[Schedule, Job]:
    """A reminder whose newest slot has been fired, and its job."""
    schedule = make_job_schedule(make_user(), payload=payload, **overrides)
    fire.fire_due(NINE)
    return schedule, Job.objects.get(origin_id=schedule.id)


def next_day(schedule: Schedule, days: int = 1) -> Job:
    fire.fire_due(NINE + timedelta(days=days))
    return check(Job.objects.filter(origin_id=schedule.id).latest("id"))


def said() -> list[str]:
    return list(Notification.objects.order_by("id").values_list("subject", flat=True))


def test_a_slot_records_a_job_and_no_notification() -> None:
    schedule, job = fired({"value": "seven"})
    [occurrence] = Occurrence.objects.all()
    assert (job.batch_id, job.slot, job.state, job.kind) == (occurrence.id, NINE, "pending", "sample")
    assert job.user_id == schedule.user_id
    assert not Notification.objects.exists()


def test_a_job_that_speaks_records_its_notification_with_its_settlement(published: list[UUID]) -> None:
    schedule, job = fired({"value": "seven"})
    published.clear()
    check(job)
    [notification] = Notification.objects.all()
    assert (job.state, job.notification_id, job.reason) == ("decided", notification.id, "checked the sample: seven")
    assert (notification.subject, notification.slot) == ("It is seven", NINE)
    assert (notification.batch_id, notification.origin_id) == (job.batch_id, schedule.id)
    assert [one.id for one in Delivery.objects.filter(notification=notification)] == published


def test_a_job_that_stays_silent_keeps_its_evidence() -> None:
    _, job = fired({"value": "nothing"})
    check(job)
    assert (job.state, job.notification_id, job.reason_code) == ("decided", None, "sample-checked")
    assert not Notification.objects.exists()


def test_a_silent_check_that_changes_nothing_writes_nothing_but_its_settlement() -> None:
    """So it shares a commit with others that are settled at the same moment."""
    _, job = fired({"value": "nothing"})
    claimed = claim(JOB, job.id, "worker")
    assert claimed is not None
    assert deciding.decided(claimed, Nothing(NO_REASON)) == Done()


def test_every_message_twice_decides_once() -> None:
    _, job = fired({"value": "seven"})
    check(job)
    check(job)
    assert (job.tries, Notification.objects.count()) == (1, 1)


def test_a_source_that_is_away_is_asked_again_and_its_owner_told_at_the_end(published: list[UUID]) -> None:
    schedule, job = fired({"value": "later"})
    published.clear()
    assert [check(job).state for _ in range(3)] == ["pending", "pending", "dead"]
    [notice] = Notification.objects.all()
    assert (notice.origin, notice.subject) == ("notice", "“It is {value}”: the check failed")
    assert Memory.objects.get(origin_id=schedule.id).failures == 1
    assert published == [notice.deliveries.get().id]


def test_a_job_whose_parsing_is_ended_is_dead_at_once_and_names_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS", 0.2)
    _, job = fired({"value": "endless"})
    check(job)
    assert (job.state, job.tries, job.reason_code) == ("dead", 1, "over-budget")
    assert job.reason_params == {"limit": ["seconds", 0.2]}
    assert "more than 0.2 s" in job.reason


def test_a_job_for_which_no_child_is_free_comes_back_without_counting_a_try() -> None:
    _, job = fired({"value": "killed"})
    check(job)
    assert (job.state, job.tries, job.released, job.reason_code) == ("pending", 0, 1, "parsers-busy")
    Job.objects.update(released=30)
    assert check(job).state == "dead"


def test_a_decision_that_costs_too_much_is_dead_at_once_and_names_the_limit() -> None:
    _, job = fired({"value": "dear"})
    check(job)
    assert (job.state, job.tries, job.reason_code) == ("dead", 1, "over-budget")


@pytest.mark.parametrize(("hours", "is_told_again"), [(23.9, False), (24.1, True)])
def test_a_check_that_goes_on_failing_is_told_again_after_a_day(hours: float, is_told_again: bool) -> None:
    schedule, job = fired({"value": "refused"})
    check(job)
    told_at = timezone.now() - timedelta(hours=hours)
    Memory.objects.update(told_at=told_at, failing_since=told_at, changed_at=told_at, state="seven")
    next_day(schedule, 1)
    memory = Memory.objects.get()
    assert (memory.failures, memory.told_at != told_at) == (2, is_told_again)
    assert (memory.failing_since, memory.state) == (told_at, "seven")
    assert told_at < memory.changed_at <= timezone.now()


def test_a_failure_is_told_once_a_day_and_the_recovery_once() -> None:
    schedule, job = fired({"value": "refused"})
    assert check(job).state == "dead"
    next_day(schedule, 1)
    Schedule.objects.update(job_payload={"value": "nothing"})
    assert next_day(schedule, 2).state == "decided"
    assert next_day(schedule, 3).state == "decided"
    assert said() == ["“It is {value}”: the check failed", "“It is {value}” works again"]
    assert Memory.objects.get().failures == 0


def test_a_failure_is_told_after_as_many_as_wanted() -> None:
    schedule, job = fired({"value": "refused"}, on_error=OnError.AFTER, errors_allowed=2)
    check(job)
    assert said() == []
    next_day(schedule)
    assert said() == ["“It is {value}”: the check failed"]


def test_a_refused_secret_disables_the_connection() -> None:
    user = make_user()
    connection = Connection.objects.create(user=user, kind="sample", label="Mine")
    schedule = make_job_schedule(user, payload={"value": "refused"}, connection=connection)
    fire.fire_due(NINE)
    check(Job.objects.get())
    connection.refresh_from_db()
    assert (connection.failing_code, connection.failing_since is not None) == ("sample-away", True)
    assert next_day(schedule).reason_code == "connection-disabled"


def test_a_silent_check_notes_that_its_connection_works_and_none_what_an_older_secret_does() -> None:
    user = make_user()
    connection = make_connection(user, "sample", working_since=None)
    make_job_schedule(user, payload={"value": "nothing"}, connection=connection)
    fire.fire_due(NINE)
    check(Job.objects.get())
    connection.refresh_from_db()
    assert connection.state == "working"
    fire.fire_due(NINE + timedelta(days=1))
    claimed = claim(JOB, Job.objects.get(state="pending").id, "worker")
    assert claimed is not None
    Connection.objects.update(version=2)
    deciding.fail(claimed, NO_REASON, disconnect=True)
    connection.refresh_from_db()
    assert connection.state == "working"


@pytest.mark.parametrize(("urgent", "reason"), [(False, "quiet-hours"), (True, "")])
def test_only_what_is_urgent_is_said_in_quiet_hours(urgent: bool, reason: str) -> None:
    user = make_user(time_zone="UTC", quiet_from=time(0), quiet_until=time(23, 59, 59))
    make_job_schedule(user, payload={"value": "seven"}, channels=[make_channel(user, "email")], urgent=urgent)
    fire.fire_due(NINE)
    check(Job.objects.get())
    assert Delivery.objects.get().reason_code == reason


def test_a_removed_connection_ends_visibly_even_where_the_kind_needs_none() -> None:
    user = make_user()
    removed = make_connection(user, "sample", removed_at=NINE)
    make_job_schedule(user, payload={"value": "seven"}, connection=removed)
    fire.fire_due(NINE)
    job = check(Job.objects.get())
    assert (job.state, job.reason_code) == ("dead", "no-connection")


def test_an_unknown_kind_ends_visibly_and_is_not_tried_again() -> None:
    schedule = make_job_schedule(make_user(), kind="gone")
    fire.fire_due(NINE)
    job = check(Job.objects.get(origin_id=schedule.id))
    assert (job.state, job.reason_code, job.tries) == ("dead", "no-job-kind", 1)
    assert Notification.objects.filter(origin="notice").count() == 1


def test_the_memory_of_a_reminder_and_its_person_is_kept_from_check_to_check() -> None:
    schedule, job = fired({"value": "seven", "changes": True})
    Memory.objects.create(origin_id=schedule.id, user=make_user(), state="seven")
    Memory.objects.create(origin_id=uuid4(), user_id=schedule.user_id, state="seven")
    check(job)
    assert (next_day(schedule).notification_id, said()) == (None, ["It is seven"])


def test_two_jobs_that_decide_from_the_same_memory_do_not_both_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, first = fired({"value": "seven", "changes": True})
    fire.fire_due(NINE + timedelta(days=1))
    second = Job.objects.filter(origin_id=schedule.id).latest("id")
    plain, done = CheckKind.prepare, []

    def prepare_while_another_decides(*args: Any) -> Any:
        if not done:
            done.append(True)
            check(second)
        return plain(*args)

    monkeypatch.setattr(CheckKind, "prepare", prepare_while_another_decides)
    check(first)
    assert (first.state, first.tries, first.released, first.reason_code) == ("pending", 0, 1, "overtaken")
    assert first.available_at <= timezone.now()  # it begins again at once
    assert check(first).state == "decided"
    assert said() == ["It is seven"]


def test_no_process_starts_with_a_queue_for_a_kind_that_does_not_exist(settings: Any) -> None:
    settings.JOB_QUEUES = {"web_value": "slow", "web_vlaue": "slow"}
    with pytest.raises(Misconfigured, match="JOB_QUEUES names “web_vlaue”, which is not a kind of job"):
        startup.check()


def test_a_kind_with_a_queue_of_its_own_is_published_there_and_its_worker_missed(
    settings: Any, broker: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.JOB_QUEUES = {"sample": "slow"}
    with django_capture_on_commit_callbacks(execute=True):
        fired({"value": "seven"})
    assert (Job.objects.get().queue, broker.llen("carillon:slow"), broker.llen("carillon:jobs")) == ("slow", 1, 0)
    served_queues.announce(settings.QUEUES)
    assert served_queues.unserved() == ["slow"]
