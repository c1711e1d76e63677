"""A check that fails is told, however its job ended."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jobs import kinds
from jobs.batches import withdrawal
from jobs.batches.withdrawal import withdraw
from jobs.checks import deciding, steps
from jobs.checks.kind import JOB
from jobs.kinds.base import Ask, Source
from jobs.models import Job, Memory
from jobs.models.job import OnError
from notifications.models import Notification
from notifications.reasons import DeliveryCode
from schedules.firing import fire
from tests.make import NINE, check, make_job_schedule, make_user
from work.answers import Retryable
from work.engine import claim, hold, manual, recovery, runner
from work.engine.runner import TryAgain
from work.reasons import NO_REASON, Reason, WorkCode


def fired(payload: dict[str, Any], **overrides: Any) -> Job:
    schedule = make_job_schedule(make_user(), payload=payload, **overrides)
    fire.fire_due(NINE)
    return Job.objects.get(origin_id=schedule.id)


def said() -> list[str]:
    return list(Notification.objects.order_by("id").values_list("subject", flat=True))


CANNOT_CHECK = "“It is {value}”: the check failed"


def test_a_bug_of_a_kind_is_tried_again_and_told_once() -> None:
    job = fired({"value": "bug"})
    assert [check(job).state for _ in range(3)] == ["pending", "pending", "dead"]
    assert job.reason_code == "fault"
    assert [JOB.rescue(), JOB.rescue()] == [1, 0]
    assert (said(), Memory.objects.get().failures) == ([CANNOT_CHECK], 1)


def test_a_bug_of_a_kind_sends_anyway_where_wanted() -> None:
    job = fired({"value": "bug"}, on_error=OnError.SEND)
    [check(job) for _ in range(3)]
    assert [JOB.rescue(), JOB.rescue()] == [1, 0]
    assert said() == ["It is unknown"]


def lose_at_the_last_try(job: Job) -> None:
    lost = {"state": "looking", "tries": 3, "lease_token": uuid4(), "lease_until": Now() - timedelta(minutes=1)}
    Job.objects.filter(id=job.id).update(**lost)
    assert recovery.recover(JOB, 10)["dead"] == 1


def test_a_worker_that_is_lost_at_the_last_try_is_told_once_the_database_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = fired({"value": "seven"})
    lose_at_the_last_try(job)
    with monkeypatch.context() as away, pytest.raises(OperationalError):
        away.setattr(deciding, "fail", Mock(side_effect=OperationalError))
        JOB.rescue()
    assert (JOB.rescue(), said()) == (1, [CANNOT_CHECK])
    assert not JOB._note(job.id)  # as another rescue does that had found it, too


@pytest.mark.parametrize("first", ["refused", "damaged"])
def test_a_replay_that_is_lost_after_a_failure_that_was_noted_is_noted_too(first: str) -> None:
    job = fired({"value": "refused"})
    if first == "damaged":
        Job.objects.filter(id=job.id).update(message={"title": 1})
    check(job)
    assert JOB.rescue() == (first == "damaged")
    manual.replay(Job, [job.id])
    lose_at_the_last_try(job)
    assert [JOB.rescue(), JOB.rescue()] == [1, 0]


def test_a_check_that_becomes_stale_between_its_tries_is_told_and_not_sent() -> None:
    job = fired({"value": "bug"}, on_error=OnError.SEND)
    [check(job) for _ in range(3)]
    manual.replay(Job, [job.id])
    for value in ("bug", "later", "killed"):
        Job.objects.filter(id=job.id).update(payload={"value": value})
        assert check(job).state == "pending"
    Job.objects.filter(id=job.id).update(expires_at=NINE)
    assert recovery.expire(JOB, 10) == 1
    assert (JOB.rescue(), JOB.rescue(), said()) == (1, 0, [CANNOT_CHECK])
    assert "The sample is away." in Notification.objects.get().body


def test_a_check_that_a_restore_ended_between_its_tries_is_told_with_that_reason() -> None:
    check(fired({"value": "later"}))
    hold.begin()
    assert hold.release(hold.Choice.KEEP, math.inf)
    assert JOB.rescue() == 1
    assert str(Reason(WorkCode.RESTORED)) in Notification.objects.get().body


@pytest.mark.parametrize("fields", [{"settled_at": Now() - timedelta(hours=25)}, {"preview": {}}])
def test_neither_an_old_failure_nor_that_of_a_check_now_is_told(fields: dict[str, Any]) -> None:
    job = fired({"value": "bug"})
    [check(job) for _ in range(3)]
    Job.objects.update(**fields)
    assert JOB.rescue() == 0


def test_what_became_stale_before_it_was_tried_has_not_failed() -> None:
    job = fired({"value": "seven"})
    Job.objects.filter(id=job.id).update(expires_at=NINE)
    assert recovery.expire(JOB, 10) == 1
    assert (JOB.rescue(), said()) == (0, [])


def test_a_damaged_job_is_told_and_holds_up_no_other() -> None:
    damaged, bug, sound = (fired({"value": value}) for value in ("seven", "bug", "nothing"))
    Job.objects.filter(id=damaged.id).update(message={"title": 1})
    assert check(damaged).state == "dead"
    [check(bug) for _ in range(3)]
    assert check(sound).state == "decided"
    assert [JOB.rescue(), JOB.rescue()] == [2, 0]
    assert said() == ["“sample”: the check failed", CANNOT_CHECK]


def test_a_replay_that_fails_again_is_counted_again() -> None:
    job = fired({"value": "refused"})
    check(job)
    manual.replay(Job, [job.id])
    assert (check(job).state, JOB.rescue()) == ("dead", 0)
    assert Memory.objects.get().failures == 2


def test_what_is_sent_anyway_names_no_value_and_says_why() -> None:
    job = check(fired({"value": "refused"}, on_error=OnError.SEND))
    assert (job.state, job.reason_code) == ("decided", "sent-anyway")
    notification = Notification.objects.get()
    assert notification.subject == "It is unknown"
    assert "The sample is away." in notification.body and "{" not in notification.body


def test_a_connection_with_another_secret_asks_its_source_again() -> None:
    kind = kinds.find("sample")
    assert kind is not None
    source = Source(id=uuid4(), label="", address={}, secrets={})
    ask = Ask(user_id=1, origin_id=None, zone=ZoneInfo("UTC"), slot=NINE, now=NINE, payload={}, source=source)
    edited = replace(ask, source=replace(source, version=2))
    assert steps._key(kind, ask) == steps._key(kind, replace(ask)) != steps._key(kind, edited)


def test_a_check_that_waits_ends_with_its_question() -> None:
    job = fired({"value": "later"})
    check(job)
    withdrawal.forget(job.origin_id or uuid4())
    assert (check(job).state, job.reason_code) == ("cancelled", "job-of-other-question")


@pytest.mark.parametrize(
    "stop",
    [
        lambda job: withdraw([job.origin_id], DeliveryCode.PAUSED),
        lambda job: withdrawal.leave(job.user_id, job.origin_id),
    ],
    ids=["paused", "left"],
)
def test_a_check_that_becomes_stale_because_it_was_stopped_is_not_told(stop: Callable[[Job], None]) -> None:
    job = fired({"value": "later"})
    claimed = claim.claim(JOB, job.id, "worker")
    assert claimed is not None
    stop(job)
    with suppress(TryAgain):
        runner.finish(JOB, claimed, Retryable(NO_REASON))
    Job.objects.update(expires_at=NINE)  # within one transaction the clock stands still
    assert recovery.expire(JOB, 10) == 1
    assert (JOB.rescue(), said()) == (0, [])
