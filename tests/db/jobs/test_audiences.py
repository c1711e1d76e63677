"""Reminders for an audience: frozen, told once, in each reader's zone and words, and counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from events.models import Subscription, Topic
from jobs.batches import progress as batches, withdrawal
from jobs.batches.kind import BATCH
from jobs.batches.progress import Progress
from jobs.checks.kind import JOB
from jobs.models import Batch, Connection, Job, Leaver
from jobs.reasons import JobCode
from notifications.models import Delivery, Notification
from notifications.reasons import DeliveryCode
from people.models import User
from schedules.firing import fire
from schedules.models import Occurrence, Schedule
from tests.make import NINE, check, make_channel, make_schedule, make_user, send_now, taken
from work.broker import wakes
from work.engine import claim, runner

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def make_reader(**overrides: Any) -> User:
    reader = make_user(**{"date_joined": LONG_AGO} | overrides)
    make_channel(reader)
    return reader


@pytest.fixture
def staff() -> User:
    return make_user(is_staff=True, is_active=True, date_joined=NINE + timedelta(days=9_999))


def announce(staff: User, audience: str = "everybody", key: str = "", now: datetime = NINE, **overrides: Any) -> Batch:
    """The batch of a slot, recorded and not told."""
    schedule = make_schedule(staff, [], audience=audience, audience_key=str(key), **overrides)
    fire.fire_due(now)
    return Batch.objects.get(origin_id=schedule.id)


def tell(batch: Batch) -> Batch:
    runner.run(BATCH, batch.id, "worker")
    batch.refresh_from_db()
    return batch


def progress(batch: Batch) -> Progress:
    return batches.progress_of(Batch.objects.with_counts().get(id=batch.id))


def told() -> list[int]:
    return sorted(Notification.objects.filter(origin="announcement").values_list("user_id", flat=True))


def test_everybody_is_told_once_in_their_own_words(staff: User) -> None:
    readers = [make_reader(name="Ada"), make_reader(name="Bo")]
    make_reader(is_team=True)
    batch = tell(announce(staff, title="Hello {name}", body="{name}, it is {time}."))
    [occurrence] = Occurrence.objects.all()
    assert (batch.id, batch.state, batch.size, batch.reached) == (occurrence.id, "told", 2, 2)
    assert told() == sorted(reader.pk for reader in readers)
    assert set(Notification.objects.values_list("subject", "body", "slot")) == {
        ("Hello Ada", "Ada, it is 11:00.", NINE),
        ("Hello Bo", "Bo, it is 11:00.", NINE),
    }


def test_a_group_is_told_and_nobody_else(staff: User) -> None:
    group = Group.objects.create(name="Crew")
    member, _ = make_reader(), make_reader()
    member.groups.add(group)
    tell(announce(staff, "group", str(group.pk)))
    assert told() == [member.pk]


def test_who_has_connected_a_source_checks_through_their_own_connection(staff: User) -> None:
    connected, _ = make_reader(), make_reader()
    mine = Connection.objects.create(user=connected, kind="sample", label="Mine", created_at=LONG_AGO)
    for other in ({"removed_at": NINE}, {"disabled_at": NINE}, {"created_at": NINE + timedelta(days=9_999)}):
        Connection.objects.create(
            **{"user": make_reader(), "kind": "sample", "label": "Theirs", "created_at": LONG_AGO} | other
        )
    batch = tell(announce(staff, "connected", "sample", job_kind="sample", job_payload={"value": "seven"}))
    [job] = Job.objects.all()
    assert (job.user_id, job.batch_id, job.origin_id) == (connected.pk, batch.id, batch.origin_id)
    assert job.connection_id in (None, mine.id)
    assert check(job).state == "decided"
    assert told() == [connected.pk]


def test_a_check_goes_through_the_readers_first_connection_of_its_kind_that_works(staff: User) -> None:
    def connect(user: User, kind: str = "sample", **fields: Any) -> Connection:
        return Connection.objects.create(user=user, kind=kind, label="One", **fields)

    reader = make_reader()
    connect(make_user())
    connect(reader, "github")
    connect(reader, removed_at=LONG_AGO)
    connect(reader, disabled_at=LONG_AGO)
    works, _ = connect(reader), connect(reader)
    tell(announce(staff, job_kind="linked", job_payload={"value": "seven"}))
    assert Job.objects.get(user=reader).connection_id == works.id


@pytest.mark.parametrize("job", [{}, {"job_kind": "sample", "job_payload": {"value": "seven"}}])
def test_no_queue_of_a_reader_gets_what_is_announced(staff: User, job: dict[str, Any]) -> None:
    make_channel(make_reader(), "queue")
    make_channel(make_user(date_joined=LONG_AGO), "queue")
    tell(announce(staff, **job))
    for one in Job.objects.all():
        check(one)
    assert list(Delivery.objects.values_list("provider", flat=True)) == ["inbox"]


def test_readers_are_not_told_of_a_check_that_fails_without_a_connection_of_theirs(staff: User) -> None:
    [make_reader() for _ in range(2)]
    tell(announce(staff, job_kind="sample", job_payload={"value": "refused"}))
    assert [check(job).state for job in Job.objects.all()] == ["dead", "dead"]
    assert told() == []


def test_an_empty_audience_is_recorded_and_ends_there(staff: User) -> None:
    batch = tell(announce(staff))
    assert (batch.state, batch.size, Notification.objects.count()) == ("told", 0, 0)
    batches.count_open()
    batch.refresh_from_db()
    assert batch.ended_at is not None
    assert progress(batch) == Progress(0, 0, 0, 0, 0)


def test_who_has_left_or_came_later_is_not_told(staff: User) -> None:
    stays, leaves = make_reader(), make_reader()
    batch = announce(staff)
    make_reader(date_joined=NINE + timedelta(days=9_999))
    Leaver.objects.create(origin_id=batch.origin_id, user=leaves)
    tell(batch)
    assert told() == [stays.pk]


def test_nine_on_each_readers_clock(staff: User) -> None:
    """The slot is nine in the first zone on Earth; a damaged zone counts as that of the reminder."""
    zones = ["Pacific/Kiritimati", "Europe/Berlin", "America/Los_Angeles", "Nowhere/Else"]
    readers = [make_reader(time_zone=zone) for zone in zones]
    slot = datetime(2026, 6, 1, 19, tzinfo=UTC)
    batch = announce(staff, now=slot, time_zone="Pacific/Kiritimati", local_time=True, body="It is {time}.")
    tell(batch)
    assert batch.slot == slot
    at = dict(Notification.objects.values_list("user_id", "slot"))
    assert [at[reader.pk] for reader in readers] == [
        slot,
        datetime(2026, 6, 2, 7, tzinfo=UTC),
        datetime(2026, 6, 2, 16, tzinfo=UTC),
        slot,
    ]
    assert set(Notification.objects.values_list("body", flat=True)) == {"It is 09:00."}
    due = dict(Delivery.objects.values_list("notification__user_id", "available_at"))
    assert [due[reader.pk] - at[reader.pk] for reader in readers] == [timedelta(0)] * 4 or min(due.values()) >= slot


def test_checks_for_a_later_slot_are_published_shortly_before_it(staff: User) -> None:
    make_reader()
    batch = announce(staff, job_kind="sample", job_payload={"value": "seven"})
    slot = timezone.now() + timedelta(hours=1)
    Batch.objects.update(slot=slot, stale_after=600)
    tell(batch)
    [job] = Job.objects.all()
    assert (job.available_at, slot - job.wake_at) == (slot, timedelta(seconds=wakes.EARLY))
    assert (job.expires_at, job.tries, job.wakes, job.replays) == (slot + timedelta(minutes=10), 0, 0, 0)


def test_progress_is_counted_by_parts_and_the_end_is_recorded(staff: User) -> None:
    for _ in range(3):
        make_reader()
    batch = announce(staff)
    assert progress(batch).total == 0
    tell(batch)
    assert progress(batch) == Progress(3, 0, 0, 0, 0)
    first, *others = Delivery.objects.all()
    send_now(first.id)
    batches.count_open()
    assert progress(batch) == Progress(2, 0, 1, 0, 0)
    assert progress(batch).percent == 33.3
    for delivery in others:
        send_now(delivery.id)
    batches.count_open()
    batch.refresh_from_db()
    assert (progress(batch).completed, batch.ended_at is not None) == (3, True)


def test_a_batch_is_cancelled_halfway(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.batches import kind as batch_kind

    monkeypatch.setattr(batch_kind, "PART", 2)
    monkeypatch.setattr(batch_kind, "PORTION", -1.0)
    for _ in range(4):
        make_reader()
    batch = tell(announce(staff))
    sent = Delivery.objects.order_by("id")[0]
    send_now(sent.id)
    withdrawal.cancel(batch)
    assert (tell(batch).state, batch.told) == ("cancelled", 2)
    withdrawal.cancel_parts()
    batches.count_open()
    batch.refresh_from_db()
    assert progress(batch) == Progress(0, 0, 1, 0, 1)
    assert batch.ended_at is not None


def test_a_check_under_way_in_a_batch_that_is_cancelled_is_not_tried_again(staff: User) -> None:
    for _ in range(2):
        make_reader()
    batch = tell(announce(staff, job_kind="sample", job_payload={"value": "seven"}))
    begun, waiting = Job.objects.order_by("user_id")
    claim.claim(JOB, begun.id, "worker")
    withdrawal.cancel(batch)
    withdrawal.cancel_parts()
    begun.refresh_from_db()
    waiting.refresh_from_db()
    assert (begun.state, begun.failures_noted, waiting.state) == ("looking", 1, "cancelled")
    assert begun.expires_at is not None and begun.expires_at <= timezone.now()
    tell(announce(staff, job_kind="sample", job_payload={"value": "seven"}))
    batches.count_open()
    assert progress(batch) == Progress(0, 1, 0, 0, 1)


def test_a_worker_that_dies_while_it_cancels_a_part_leaves_nothing_of_it_to_be_sent(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        make_reader()
    batch = tell(announce(staff, job_kind="sample", job_payload={"value": "seven"}))
    decided, waiting = Job.objects.order_by("user_id")
    assert check(decided).state == "decided"
    withdrawal.cancel(batch)
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(withdrawal.withdrawal, "cancel", Mock(side_effect=SystemExit))
        withdrawal.cancel_parts()
    batches.count_again(batch)  # somebody looks at its page
    withdrawal.cancel_parts()
    waiting.refresh_from_db()
    assert (waiting.state, Delivery.objects.get().state) == ("cancelled", "cancelled")


@pytest.mark.parametrize("cause", ["batch", "reminder"])
def test_what_waits_where_all_checks_have_ended_is_cancelled_too(staff: User, cause: str) -> None:
    make_reader()
    batch = tell(announce(staff, job_kind="sample", job_payload={"value": "seven"}))
    assert check(Job.objects.get()).state == "decided"
    batches.count_again(batch)  # its owner looks at the page
    batches.count_open()
    batch.refresh_from_db()
    assert (batch.ended_at, progress(batch)) == (None, Progress(1, 0, 0, 0, 0))
    if cause == "batch":
        withdrawal.cancel(batch)
    else:
        assert batch.origin_id is not None
        withdrawal.withdraw([], DeliveryCode.PAUSED, announced=[batch.origin_id])
    batches.count_again(batch)
    batches.count_open()
    assert withdrawal.cancel_parts() == 1
    assert (Delivery.objects.get().state, withdrawal.cancel_parts()) == ("cancelled", 0)
    batches.count_open()
    withdrawal.cancel(batch)  # again, by the API
    batch.refresh_from_db()
    assert (batch.ended_at is not None, progress(batch)) == (True, Progress(0, 0, 1, 0, 0))


def test_a_check_ends_in_its_batch_with_its_messages(staff: User) -> None:
    make_channel(make_reader(), "email")
    batch = tell(announce(staff, job_kind="sample", job_payload={"value": "seven"}))
    assert check(Job.objects.get()).state == "decided"
    first, second = Delivery.objects.order_by("-channel__provider")
    taken(second.id)
    batches.count_open()
    assert progress(batch) == Progress(1, 0, 0, 0, 0)
    send_now(first.id)
    batches.count_open()
    batch.refresh_from_db()
    assert (batch.ended_at, progress(batch)) == (None, Progress(0, 1, 0, 0, 0))


def test_one_that_was_cancelled_while_a_worker_had_it_tells_nobody(staff: User) -> None:
    make_reader()
    batch = announce(staff)
    Batch.objects.update(cancelled_at=NINE)
    assert (tell(batch).state, batch.reason_code, told()) == ("cancelled", JobCode.CANCELLED_BATCH, [])


def test_a_reminder_for_a_topic_is_left_without_the_topic(staff: User) -> None:
    topic, reader = Topic.objects.create(user=staff, slug="news", name="News"), make_reader()
    own = Subscription.objects.create(topic=topic, user=reader, joined_at=LONG_AGO)
    batch = tell(announce(staff, "topic", str(topic.id)))
    message = Notification.objects.get()
    assert (message.user, message.origin_id) == (reader, batch.origin_id)
    withdrawal.leave(reader.pk, batch.origin_id)
    assert tell(announce(staff, "topic", str(topic.id))).reached == 1
    assert Subscription.objects.current().get() == own


def test_an_unknown_audience_ends_visibly(staff: User) -> None:
    batch = announce(staff)
    Batch.objects.update(audience="gone")
    assert (tell(batch).state, batch.reason_code) == ("dead", "no-audience")


def test_a_schedule_without_an_audience_records_no_batch() -> None:
    make_schedule(make_user())
    fire.fire_due(NINE)
    assert not Batch.objects.exists()
    assert Schedule.objects.get().audience == ""
