"""A batch goes to everybody who belonged to its audience when it was recorded, once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from common.database import fault_points
from common.uuid7 import uuid7
from events.intake import ledger, trace
from events.kinds.event import EVENT
from events.models import Event, Subscription, Topic
from events.pure.envelope import LARGEST_COPY, Envelope
from jobs.batches import kind, progress
from jobs.batches.kind import BATCH
from jobs.models import Batch
from jobs.reasons import JobCode
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.make import make_channel, make_delivery, make_user, send_now
from work.broker import backlog as broker_module, wakes
from work.engine import recovery, rescue, runner
from work.reasons import NO_REASON


class Killed(BaseException):
    """What a SIGKILL leaves behind: nothing more runs."""


def make_topic(user: User, **overrides: Any) -> Topic:
    return Topic.objects.create(**{"user": user, "slug": "news", "name": "News"} | overrides)


def subscribe(topic: Topic, *users: User, **overrides: Any) -> list[Subscription]:
    """Long ago, so that it is before every event of this transaction."""
    joined = {"joined_at": Now() - timedelta(days=1)} | overrides
    return [Subscription.objects.create(topic=topic, user=user, **joined) for user in users]


def make_readers(count: int) -> list[User]:
    readers = [make_user() for _ in range(count)]
    for reader in readers:
        make_channel(reader)
    return readers


def publish(topic: Topic, **overrides: Any) -> Event:
    fields: dict[str, Any] = {"type": "news.written", "data": {"title": "Rain", "body": "All day."}}
    envelope = Envelope(topic_id=topic.id, **fields | overrides)
    ledger.record(topic.user_id, [envelope])
    return Event.objects.get(key=envelope.key)


def record(event: Event) -> Batch:
    """Handle the event: its batch is recorded."""
    runner.run(EVENT, event.id, "worker")
    event.refresh_from_db()
    assert event.state == "handled"
    return Batch.objects.get(id=event.batch_id)


def tell(batch: Batch) -> Batch:
    runner.run(BATCH, batch.id, "worker")
    batch.refresh_from_db()
    return batch


def handle(event: Event) -> Batch:
    return tell(record(event))


def lose(batch: Batch) -> None:
    """The lease is over, and rescue gives the batch to the next worker."""
    Batch.objects.filter(id=batch.id, state="telling").update(lease_until=Now() - timedelta(hours=1))
    recovery.recover(BATCH, 10)


@pytest.fixture
def topic(ada: User) -> Topic:
    return make_topic(ada)


@pytest.fixture
def small_chunks() -> Iterator[None]:
    with patch.object(kind, "PART", 3):
        yield


def told(batch: Batch) -> list[int]:
    return sorted(Notification.objects.filter(batch_id=batch.id).values_list("user_id", flat=True))


def test_everybody_is_told_once_in_the_topics_words_and_in_the_events_chain(topic: Topic) -> None:
    readers = make_readers(3)
    subscriptions = subscribe(topic, *readers)
    batch = handle(publish(topic, source="desk"))
    assert (batch.state, batch.size, batch.told, batch.reached) == ("told", 3, 3, 3)
    assert told(batch) == sorted(reader.pk for reader in readers)
    notifications = Notification.objects.filter(correlation_id=batch.correlation_id)
    assert {(one.subject, one.body, one.category) for one in notifications} == {("Rain", "All day.", "news")}
    assert len({one.batch_id for one in notifications}) == 1
    assert {one.hops for one in notifications} == {1}
    assert {(one.origin, one.origin_id) for one in notifications} == {("topic", one.id) for one in subscriptions}
    assert notifications[0].data["data"] == {"title": "Rain", "body": "All day."}
    for delivery in Delivery.objects.all():
        send_now(delivery.id)
    assert set(Delivery.objects.values_list("state", "provider")) == {("delivered", "inbox")}


def test_a_queue_that_a_subscriber_has_chosen_gets_it_and_a_batch_ends_without_its_program(topic: Topic) -> None:
    [reader] = make_readers(1)
    queue = make_channel(reader, "queue")
    subscribe(topic, reader, channel_ids=[queue.id])
    batch = handle(publish(topic))
    assert Delivery.objects.get().channel_id == queue.id
    progress.count_open()
    batch.refresh_from_db()
    assert batch.ended_at is not None
    assert progress.progress_of(Batch.objects.with_counts().get()).completed == 1


def test_an_empty_audience_is_recorded_and_ends_there(topic: Topic) -> None:
    batch = handle(publish(topic))
    assert (batch.state, batch.size, batch.told) == ("told", 0, 0)
    assert not Notification.objects.exists()


def test_a_batch_is_told_at_once_and_recorded_once(ada: User) -> None:
    new = progress.NewBatch(
        id=uuid7(), user_id=ada.pk, audience="everybody", audience_key="", origin="announcement", message={}
    )
    assert progress.record([new]) == [wakes.Wake(progress.TELL, new.id, 0.0, ada.pk)]
    assert progress.record([new]) == []
    batch = Batch.objects.get()
    assert (batch.slot, batch.local_time, batch.stale_after, batch.job_kind) == (None, False, None, "")


def test_the_audience_is_frozen_when_the_event_is_recorded(topic: Topic) -> None:
    stays, left_before, leaves_between, joins_later = make_readers(4)
    subscribe(topic, stays, leaves_between)
    subscribe(topic, left_before, left_at=Now())
    event = publish(topic)
    subscribe(topic, joins_later, joined_at=Now() + timedelta(seconds=1))
    Subscription.objects.filter(user=leaves_between).update(left_at=Now())
    assert told(handle(event)) == [stays.pk]


@pytest.mark.parametrize(
    ("chosen", "used"),
    [
        ([], {"inbox", "email"}),
        (["email"], {"email"}),
        (["email", "inbox"], {"email", "inbox"}),
        (["disabled", "email"], {"email"}),
        (["disabled", "removed", "unverified", "anothers"], {"inbox"}),
    ],
)
def test_the_chosen_channels_that_work_are_used_and_else_the_inbox(
    topic: Topic, chosen: list[str], used: set[str]
) -> None:
    [reader] = make_readers(1)
    at = Now()
    channels = {
        "inbox": Channel.objects.get(user=reader),
        "email": make_channel(reader, "email"),
        "disabled": make_channel(reader, "ntfy", disabled_at=at),
        "removed": make_channel(reader, "slack", removed_at=at),
        "unverified": make_channel(reader, "discord", verified_at=None),
        "anothers": make_channel(make_user(), "telegram"),
    }
    make_channel(reader, "status")
    subscribe(topic, reader, channel_ids=[channels[name].id for name in chosen])
    batch = handle(publish(topic))
    assert set(Delivery.objects.values_list("provider", flat=True)) == used
    assert (batch.told, batch.reached) == (1, 1)


def test_accounts_that_are_switched_off_or_have_no_channel_are_left_out(topic: Topic) -> None:
    [off, reader] = make_readers(2)
    User.objects.filter(pk=off.pk).update(is_active=False)
    subscribe(topic, off, reader, make_user())
    Subscription.objects.create(topic=topic, address="nobody@example.org", joined_at=Now() - timedelta(days=1))
    batch = handle(publish(topic))
    assert told(batch) == [reader.pk]
    assert (batch.size, batch.told, batch.reached) == (4, 4, 1)


def test_the_topic_of_another_person_is_told_nothing(topic: Topic) -> None:
    other = make_topic(make_user())
    subscribe(other, *make_readers(2))
    handle(publish(topic))
    assert not Notification.objects.exists()


def test_chunks_of_an_audience_reach_everybody(topic: Topic, small_chunks: None) -> None:
    readers = make_readers(7)
    subscribe(topic, *readers)
    batch = handle(publish(topic))
    assert told(batch) == sorted(reader.pk for reader in readers)
    assert (batch.state, batch.told, batch.history.count()) == ("told", 7, 1)


def test_an_event_is_given_back_after_a_while_and_goes_on_without_a_counted_try(
    topic: Topic, small_chunks: None
) -> None:
    readers = make_readers(7)
    subscribe(topic, *readers)
    Subscription.objects.create(topic=topic, address="nobody@example.org", joined_at=Now() - timedelta(days=1))
    batch = record(publish(topic))
    with patch.object(kind, "PORTION", -1.0):
        assert [(tell(batch).state, batch.told, batch.tries) for _ in range(3)] == [
            ("pending", 4, 0),
            ("pending", 7, 0),
            ("told", 8, 1),
        ]
    assert told(batch) == sorted(reader.pk for reader in readers)
    assert list(batch.history.values_list("outcome", flat=True)) == ["released", "released", "told"]
    assert batch.history.first().reason == "4 of 8 people are told; the others follow."


def test_a_worker_killed_20_times_between_chunks_leaves_nobody_out_and_tells_nobody_twice(topic: Topic) -> None:
    readers = make_readers(21)
    subscribe(topic, *readers)
    batch = record(publish(topic))

    def kill(point: str) -> None:
        if point == "chunk-told":
            raise Killed

    with patch.object(kind, "PART", 1), patch.object(fault_points, "reach", kill):
        for killed in range(1, 21):
            with pytest.raises(Killed):
                runner.run(BATCH, batch.id, "worker")
            lose(batch)
            batch.refresh_from_db()
            assert (batch.state, batch.told) == ("pending", killed)
    tell(batch)
    assert (batch.state, batch.told) == ("told", 21)
    assert told(batch) == sorted(reader.pk for reader in readers)
    assert Delivery.objects.count() == 21


def test_an_error_amid_its_work_is_tried_again_and_goes_on_behind_what_is_told(
    topic: Topic, small_chunks: None
) -> None:
    readers = make_readers(7)
    subscribe(topic, *readers)
    batch = record(publish(topic))

    def fail(point: str) -> None:
        if point == "chunk-told":
            raise RuntimeError

    with patch.object(fault_points, "reach", fail), pytest.raises(runner.TryAgain):
        runner.run(BATCH, batch.id, "worker")
    batch.refresh_from_db()
    assert (batch.state, batch.told, batch.reason_code) == ("pending", 3, "fault")
    Batch.objects.update(available_at=TransactionNow())
    tell(batch)
    assert told(batch) == sorted(reader.pk for reader in readers)
    assert (batch.state, Notification.objects.count()) == ("told", 7)


def test_workers_that_die_before_they_get_on_end_it_as_dead(topic: Topic) -> None:
    subscribe(topic, *make_readers(1))
    batch = record(publish(topic))
    with patch.object(kind, "tell", side_effect=Killed):
        for _ in range(7):
            with pytest.raises(Killed):
                runner.run(BATCH, batch.id, "worker")
            lose(batch)
    batch.refresh_from_db()
    assert (batch.state, batch.told) == ("dead", 0)


def test_a_worker_whose_lease_was_lost_writes_nothing(topic: Topic) -> None:
    subscribe(topic, *make_readers(2))
    batch = record(publish(topic))
    counted = kind._values

    def lose_first(*args: Any) -> dict[str, Any]:
        lose(batch)
        return counted(*args)

    with patch.object(kind, "_values", lose_first):
        tell(batch)
    assert (batch.state, batch.told, Notification.objects.count()) == ("pending", 0, 0)
    assert tell(batch).told == 2


def test_a_topic_that_is_deleted_meanwhile_ends_the_rest(topic: Topic, small_chunks: None) -> None:
    subscribe(topic, *make_readers(5))
    batch = record(publish(topic))
    with patch.object(kind, "PORTION", -1.0):
        tell(batch)
    topic.delete()
    assert (tell(batch).state, batch.told) == ("told", 3)


def test_large_data_stays_with_the_event(topic: Topic) -> None:
    subscribe(topic, *make_readers(1))
    handle(publish(topic, data={"title": "Rain", "more": "x" * LARGEST_COPY}))
    notification = Notification.objects.get()
    assert (notification.subject, notification.data["data"]) == ("Rain", None)


def test_few_are_published_at_once_and_many_by_rescue_in_portions(
    topic: Topic, broker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "FEW", 3)
    monkeypatch.setattr(rescue, "ENOUGH", 7)
    monkeypatch.setattr(rescue, "RESERVED", 3)
    broker_module.mark()
    subscribe(topic, *make_readers(3))
    handle(publish(topic))
    assert broker.llen("carillon:deliveries") == 3
    broker.delete("carillon:deliveries")
    subscribe(topic, *make_readers(9))
    handle(publish(topic))
    assert (broker.llen("carillon:deliveries"), broker.llen("carillon:bulk")) == (0, 0)
    assert Delivery.objects.filter(is_bulk=True, wake_at=TransactionNow()).count() == 12
    late = make_delivery(make_channel(make_user()), wake_at=TransactionNow())  # its message was lost
    assert rescue.rescue()["published"] == 5
    assert (broker.llen("carillon:deliveries"), broker.llen("carillon:bulk")) == (1, 4)
    assert str(late.id) in broker.lindex("carillon:deliveries", 0).decode()


def test_the_deliveries_of_many_stay_bulk_when_they_wait(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "FEW", 0)
    published: list[wakes.Wake] = []
    monkeypatch.setattr(runner, "publish", published.extend)
    [reader] = make_readers(1)
    subscribe(topic, reader)
    handle(publish(topic))
    with patch("notifications.deliveries.limits.limited", lambda claim: (1.0, NO_REASON)):
        send_now(Delivery.objects.get().id)
    assert [wake.is_bulk for wake in published] == [True]


def test_only_some_large_audiences_are_told_at_once(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "FEW", 0)
    monkeypatch.setattr(kind, "_large_ones", threading.BoundedSemaphore(1))
    subscribe(topic, *make_readers(1))
    batch = record(publish(topic))
    with kind._large_ones:
        assert (tell(batch).state, batch.reason_code, batch.tries) == ("pending", JobCode.OTHERS_FIRST, 0)
    Batch.objects.filter(id=batch.id).update(available_at=TransactionNow())
    assert tell(batch).state == "told"


def test_a_chunk_is_one_statement_however_many_it_has(topic: Topic) -> None:
    def statements(count: int) -> int:
        Notification.objects.all().delete()
        subscribe(topic, *make_readers(count))
        batch = record(publish(topic))
        with CaptureQueriesContext(connection) as captured, transaction.atomic():
            tell(batch)
        return len(captured)

    assert statements(2) == statements(20)


def test_an_owner_who_is_subscribed_finds_the_message_in_the_trace(topic: Topic, ada: User) -> None:
    make_channel(ada)
    subscribe(topic, ada, *make_readers(2))
    batch = handle(publish(topic))
    rows = trace.trace(str(batch.correlation_id), ada).rows
    assert [(row.kind, row.type, row.told) for row in rows] == [
        ("event", "news.written", 3),
        ("batch", "Rain", 3),
        ("delivery", "Rain", None),
    ]
    assert [row.kind for row in trace.trace(str(batch.correlation_id), None).rows] == ["event", "batch"]


@pytest.mark.parametrize(("rows", "times"), [(3, 1), (4, 0)])
def test_the_planner_is_told_once_of_an_audience_that_is_larger_than_the_table_it_knows(
    topic: Topic, monkeypatch: pytest.MonkeyPatch, rows: int, times: int
) -> None:
    monkeypatch.setattr(kind, "FEW", 0)
    monkeypatch.setattr(kind, "PART", 1)
    subscribe(topic, *make_readers(4))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET reltuples = %s WHERE oid = 'notifications_delivery'::regclass", [rows])
    with CaptureQueriesContext(connection) as captured:
        handle(publish(topic))
    assert len([one for one in captured if one["sql"].startswith("ANALYZE")]) == times
