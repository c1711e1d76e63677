"""Old jobs and batches are deleted with what hangs on them; dead letters and each reminder's newest check stay."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from celery import current_app
from django.conf import settings as configured
from django.db import connection
from django.utils import timezone

from common.uuid7 import first_of, uuid7
from config.environment import env
from jobs import tasks as retention
from jobs.models import Batch, Job, JobAttempt, Memory, Part
from people.models import User
from schedules import tasks as memories
from tests.make import make_channel, make_schedule

OLD, RECENT = 91, 89


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def at(days: float) -> UUID:
    return UUID(int=first_of(ago(days)).int + uuid7().int % 2**64)


def make(model: Any, days: float, **fields: Any) -> Any:
    """A row that began and ended `days` ago, written past the triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        row = model.objects.create(id=at(days), settled_at=ago(days), **fields)
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    return row


def make_job(user: User, days: float, **fields: Any) -> Job:
    return make(Job, days, **{"user": user, "kind": "feed", "slot": ago(days), "state": "decided"} | fields)


def test_checks_are_kept_for_ninety_days_and_the_newest_of_each_reminder_for_good(ada: User) -> None:
    yearly, daily = uuid7(), uuid7()
    kept = [
        make_job(ada, 400, origin_id=yearly),
        make_job(ada, RECENT, origin_id=daily),
        make_job(ada, OLD, origin_id=daily, state="dead", cause="x"),
    ]
    gone = make_job(ada, OLD, origin_id=daily)
    attempt = {"replay": 0, "number": 1, "token": uuid7(), "started_at": ago(OLD), "finished_at": ago(OLD)}
    JobAttempt.objects.create(job=gone, outcome="decided", **attempt)
    assert retention.prune() == 1
    assert set(Job.objects.values_list("id", flat=True)) == {job.id for job in kept}
    assert not JobAttempt.objects.exists()


def test_batches_that_ended_go_with_their_parts(ada: User) -> None:
    fields = {"user": ada, "audience": "everybody", "state": "told"}
    gone = make(Batch, OLD, ended_at=ago(OLD), **fields)
    kept = [
        make(Batch, OLD, ended_at=None, **fields),
        make(Batch, OLD, ended_at=ago(RECENT), **fields),
        make(Batch, OLD, ended_at=ago(OLD), **fields | {"state": "dead", "cause": "x"}),
        make(Batch, RECENT, ended_at=ago(RECENT), **fields),
    ]
    for batch in (gone, kept[0]):
        Part.objects.create(batch=batch, first=1, last=2)
    assert retention.prune() == 1
    assert set(Batch.objects.values_list("id", flat=True)) == {batch.id for batch in kept}
    assert Part.objects.get().batch_id == kept[0].id


def test_what_a_deleted_reminder_remembers_goes_after_ninety_days(ada: User) -> None:
    inbox = make_channel(ada)
    there, lately, long_ago = (make_schedule(ada, [inbox]) for _ in range(3))
    for schedule, days in ((lately, RECENT), (long_ago, OLD)):
        type(schedule).objects.filter(id=schedule.id).update(deleted_at=ago(days), next_fire_at=None)
    for origin in (there.id, lately.id, long_ago.id, uuid7()):
        Memory.objects.create(origin_id=origin, user=ada)
    assert memories.prune() == 1
    assert not Memory.objects.filter(origin_id=long_ago.id).exists()


@pytest.mark.parametrize("entry", ["prune-jobs", "prune-memories"])
def test_beat_runs_them(entry: str) -> None:
    current_app.loader.import_default_modules()  # as a worker does
    assert current_app.tasks[configured.CELERY_BEAT_SCHEDULE[entry]["task"]].run() == 0


@pytest.mark.parametrize("days", ["0", "-1", "4000", "many"])
def test_days_that_are_none_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch, days: str) -> None:
    monkeypatch.setenv("JOBS_KEPT_DAYS", days)
    with pytest.raises(env.Misconfigured, match="JOBS_KEPT_DAYS"):
        env.integer("JOBS_KEPT_DAYS", 90, 1, 3650)
