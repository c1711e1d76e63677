"""A program pulls messages under leases, and acknowledges or returns them; nobody else gets them meanwhile."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from django.db import OperationalError, close_old_connections, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.database import postgres
from notifications import tasks
from notifications.channels import changes
from notifications.deliveries import fallback, kind, pull
from notifications.deliveries.kind import DELIVERY, DeliveryClaim
from notifications.deliveries.pull import LeaseResult, lease_id, settle
from notifications.models import Attempt, Channel, Delivery, Notification
from notifications.reasons import DeliveryCode
from schedules.firing import fire
from tests.db.locks import impatient, locked
from tests.make import (
    NINE,
    NOON,
    disabled,
    happen,
    make_channel,
    make_delivery,
    make_rule,
    make_schedule,
    make_user,
    send_now,
    take,
    tried,
)
from work import dead_letters
from work.dead_letters import Who
from work.engine import manual, recovery, rescue

pytestmark = pytest.mark.django_db


def make_queue(**settings: Any) -> Channel:
    return make_channel(make_user(), "queue", address=settings)


@pytest.fixture
def queue() -> Channel:
    return make_queue()


def take_batch(queue: Channel, batch_size: int = 10, seconds: float = 30.0) -> list[DeliveryClaim]:
    queue.refresh_from_db()
    return pull.pull(queue, batch_size, seconds, "token").messages


def make_messages(queue: Channel, count: int) -> list[Delivery]:
    """The first one is the oldest."""
    made = [make_delivery(queue) for _ in range(count)]
    for number, delivery in enumerate(made):
        Delivery.objects.filter(id=delivery.id).update(available_at=NOON + timedelta(seconds=number))
    return made


def lease_ends(*messages: DeliveryClaim) -> None:
    Delivery.objects.filter(id__in=[message.id for message in messages]).update(lease_until=NOON)


def states(*deliveries: Delivery | DeliveryClaim) -> list[str]:
    found = Delivery.objects.in_bulk([one.id for one in deliveries])
    return [found[one.id].state for one in deliveries]


def ack(queue: Channel, *messages: DeliveryClaim) -> list[LeaseResult]:
    return list(settle(queue, {lease_id(message): None for message in messages}).values())


def give_back(queue: Channel, message: DeliveryClaim, delay: int = 0) -> LeaseResult:
    [result] = settle(queue, {lease_id(message): delay}).values()
    return result


# Recording


def test_a_message_for_a_queue_is_never_published_and_no_worker_takes_it(
    queue: Channel, broker: redis.Redis, django_capture_on_commit_callbacks: Any
) -> None:
    delivery = make_delivery(queue)
    assert delivery.wake_at is None
    with django_capture_on_commit_callbacks(execute=True):
        rescue.rescue()
    assert not broker.llen("carillon:deliveries")
    send_now(delivery.id)
    assert take(delivery.id) is None
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("pending", 0)


def test_a_reminder_puts_a_message_into_a_queue_also_in_quiet_hours() -> None:
    person = make_user(quiet_from="00:00", quiet_until="23:59")
    queue = make_channel(person, "queue")
    make_schedule(person, [queue])
    fire.fire_due(NINE)
    [message] = take_batch(queue)
    assert message.message.subject == "Water the plants"
    assert message.message.slot == NINE


# Pulling


def test_the_oldest_messages_come_first_and_no_more_than_asked_for(queue: Channel) -> None:
    made = make_messages(queue, 3)
    assert [message.id for message in take_batch(queue, 2)] == [made[0].id, made[1].id]
    assert [message.id for message in take_batch(queue, 2)] == [made[2].id]
    assert take_batch(queue) == []


def test_after_an_outage_a_queue_gets_the_slots_of_all_reminders_in_their_order() -> None:
    queue = make_queue(concurrency=1)
    every = {"kind": "interval", "misfire": "all", "channels": [queue]}
    for minutes in (60, 45):
        rule = {"every": minutes, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
        make_schedule(queue.user, rule=rule, **every)
    later = NOON + timedelta(hours=3, minutes=20)
    assert [fire.fire_due(later, limit=1), fire.fire_due(later, limit=1)] == [1, 1]  # of the two, each alone
    slots = []
    while messages := take_batch(queue):
        slots += [Notification.objects.get(deliveries__id=message.id).slot for message in messages]
        ack(queue, *messages)
    assert slots == [NOON + timedelta(minutes=minute) for minute in (45, 60, 90, 120, 135, 180, 180)]


def test_slots_of_one_batch_are_recorded_in_their_order_whatever_their_reminders() -> None:
    for minutes in (60, 45):
        rule = {"every": minutes, "unit": "minutes", "anchor": "2026-06-01T12:00:00+00:00"}
        make_schedule(make_user(), kind="interval", misfire="all", rule=rule)
    fire.fire_due(NOON + timedelta(hours=3, minutes=20))
    slots = [delivery.notification.slot for delivery in Delivery.objects.order_by("id")]
    assert slots == sorted(slots)
    assert len(slots) == 7


def test_a_message_that_is_held_comes_to_nobody_else(queue: Channel) -> None:
    make_messages(queue, 1)
    [held] = take_batch(queue)
    assert take_batch(queue) == []
    assert states(held) == ["sending"]


def test_the_lease_lasts_as_long_as_asked_for(queue: Channel) -> None:
    make_messages(queue, 1)
    [held] = take_batch(queue, seconds=43_200)
    row = Delivery.objects.get(id=held.id)
    assert row.lease_until is not None
    assert row.lease_until - held.claimed_at == timedelta(hours=12)


def test_what_is_due_later_or_stale_is_not_pulled(queue: Channel) -> None:
    make_delivery(queue, available_at=timezone.now() + timedelta(hours=1))
    make_delivery(queue, available_at=NOON, expires_at=NOON)
    assert pull.pull(queue, 1, 30.0, "token") == pull.Pulled([], pull.LONGEST_WAIT)
    soon = make_delivery(queue, available_at=NOON, expires_at=timezone.now() + timedelta(minutes=30))
    assert [message.id for message in take_batch(queue)] == [soon.id]


@pytest.mark.django_db(transaction=True)
def test_a_message_that_somebody_else_has_locked_holds_up_no_other() -> None:
    queue = make_queue()
    first, second = make_messages(queue, 2)
    with locked("notifications_delivery", first.id), impatient():
        assert [message.id for message in take_batch(queue)] == [second.id]


def test_a_queue_that_is_disabled_meanwhile_hands_out_and_ends_nothing(queue: Channel) -> None:
    delivery = make_delivery(queue, wake_at=None)
    Channel.objects.update(disabled_at=NOON, **disabled("Broken."))
    assert pull.pull(queue, 10, 30.0, "token").messages == []
    delivery.refresh_from_db()
    assert delivery.state == "pending"


def test_what_its_person_has_answered_is_cancelled_where_it_is_pulled(queue: Channel) -> None:
    gone, wanted = make_messages(queue, 2)
    Notification.objects.filter(id=gone.notification_id).update(acknowledged_at=NOON)
    assert [message.id for message in take_batch(queue)] == [wanted.id]
    assert states(gone) == ["cancelled"]


def collide(delivery: Delivery) -> None:
    """Its next attempt is there already."""
    Attempt.objects.create(delivery=delivery, replay=0, number=1, token=uuid4(), started_at=NOON)


def test_of_two_messages_a_damaged_one_ends_alone(queue: Channel) -> None:
    collides, fine = make_messages(queue, 2)
    collide(collides)
    assert [message.id for message in take_batch(queue)] == [fine.id]
    assert states(collides, fine) == ["dead", "sending"]


def test_an_outage_while_a_message_is_pulled_ends_nothing(queue: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    [message] = make_messages(queue, 1)
    real, lost = postgres.execute, []

    def once_broken(*given: Any) -> Any:
        if not lost:
            lost.append(given)
            raise OperationalError("server closed the connection unexpectedly")
        return real(*given)

    monkeypatch.setattr(postgres, "execute", once_broken)
    with pytest.raises(OperationalError):
        take_batch(queue)
    assert states(message) == ["pending"]


def test_a_damaged_message_ends_alone(queue: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable, collides, fine = make_messages(queue, 3)
    collide(collides)
    real = DELIVERY.read

    def read(row: Any) -> DeliveryClaim:
        if row.id == unreadable.id:
            raise ValueError("damaged")
        return real(row)

    monkeypatch.setattr(DELIVERY, "read", read)
    assert [message.id for message in take_batch(queue)] == [fine.id]
    assert states(unreadable, collides, fine) == ["dead", "dead", "sending"]


def test_a_pull_costs_five_queries_whatever_it_brings(queue: Channel) -> None:
    make_messages(queue, 30)
    for size in (1, 20):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(pull.pull(queue, size, 30.0, "token").messages) == size
        asked = [one["sql"] for one in queries if not one["sql"].startswith(("SAVEPOINT", "RELEASE"))]
        assert len(asked) == 5, asked


def test_an_idle_poll_is_one_query_without_a_lock(queue: Channel) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert pull.pull(queue, 10, 30.0, "token").messages == []
    assert len(queries) == 1
    assert "FOR" not in queries[0]["sql"].split()


# Acknowledging and returning


def test_an_acknowledged_message_is_delivered(queue: Channel) -> None:
    made = make_messages(queue, 2)
    assert ack(queue, *take_batch(queue)) == [LeaseResult.ACKED] * 2
    assert states(*made) == ["delivered"] * 2
    assert [one.outcome for one in Notification.objects.all()] == ["full"] * 2
    [attempt] = made[0].history.all()
    assert (attempt.outcome, attempt.worker) == ("delivered", "token")


def test_an_acknowledgement_wakes_programs_that_wait_for_room(queue: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[set[UUID]] = []
    monkeypatch.setattr(pull, "wake_pullers_after_commit", woken.append)
    make_messages(queue, 1)
    ack(queue, *take_batch(queue))
    assert woken == [{queue.id}]


def test_acknowledging_a_hundred_costs_two_statements(queue: Channel) -> None:
    make_messages(queue, 100)
    messages = take_batch(queue, 100)
    with CaptureQueriesContext(connection) as queries:
        assert ack(queue, *messages) == [LeaseResult.ACKED] * 100
    assert len([one for one in queries if "SAVEPOINT" not in one["sql"]]) == 2


def test_acknowledging_twice_answers_the_same_and_does_nothing(queue: Channel) -> None:
    make_messages(queue, 1)
    [message] = take_batch(queue)
    assert ack(queue, message) == [LeaseResult.ACKED]
    before = Delivery.objects.values().get()
    assert ack(queue, message) == [LeaseResult.ACKED]
    assert Delivery.objects.values().get() == before


def test_a_late_acknowledgement_is_refused_before_and_after_the_message_comes_again(queue: Channel) -> None:
    make_messages(queue, 1)
    [first] = take_batch(queue)
    lease_ends(first)
    assert ack(queue, first) == [LeaseResult.LATE]
    [second] = take_batch(queue)
    assert (second.id, second.tries) == (first.id, 2)
    assert ack(queue, first) == [LeaseResult.LATE]
    assert states(first) == ["sending"]
    assert ack(queue, second) == [LeaseResult.ACKED]
    assert ack(queue, first) == [LeaseResult.LATE]


def test_a_returned_message_comes_again_after_its_delay_with_another_lease(queue: Channel) -> None:
    make_messages(queue, 1)
    [first] = take_batch(queue)
    assert give_back(queue, first, 3600) is LeaseResult.RETURNED
    assert take_batch(queue) == []
    row = Delivery.objects.get()
    assert (row.wake_at, row.available_at > timezone.now() + timedelta(minutes=59)) == (None, True)
    Delivery.objects.update(available_at=NOON)
    [second] = take_batch(queue)
    assert (second.id, second.tries) == (first.id, 2)
    assert second.token != first.token


def test_returning_twice_answers_the_same_and_acknowledging_after_it_changes_nothing(queue: Channel) -> None:
    make_messages(queue, 1)
    [message] = take_batch(queue)
    assert [give_back(queue, message) for _ in range(2)] == [LeaseResult.RETURNED] * 2
    assert ack(queue, message) == [LeaseResult.SETTLED]
    assert states(message) == ["pending"]


def test_a_message_that_is_returned_at_its_last_try_is_a_dead_letter() -> None:
    queue = make_queue(tries=2)
    make_messages(queue, 1)
    results = []
    for _ in range(2):
        [message] = take_batch(queue)
        results.append(give_back(queue, message))
    assert results == [LeaseResult.RETURNED, LeaseResult.DEAD]
    assert give_back(queue, message) is LeaseResult.DEAD
    row = Delivery.objects.get()
    assert (row.state, row.tries, row.cause) == ("dead", 2, "queue-returned")


def test_a_lease_that_is_over_counts_as_a_try_and_the_last_one_makes_a_dead_letter() -> None:
    queue = make_queue(tries=2)
    make_messages(queue, 1)
    seen = []
    for _ in range(2):
        [message] = take_batch(queue)
        seen.append(message.tries)
        lease_ends(message)
    assert take_batch(queue) == []
    row = Delivery.objects.get()
    assert (seen, row.state, row.cause) == ([1, 2], "dead", "queue-not-acked")
    assert [one.outcome for one in row.history.all()] == ["lost"] * 2


def test_rescue_recovers_a_lease_that_is_over_without_publishing_it(queue: Channel) -> None:
    make_messages(queue, 1)
    lease_ends(*take_batch(queue))
    assert recovery.recover(DELIVERY, 10) == {"again": 1}
    row = Delivery.objects.get()
    assert (row.state, row.wake_at) == ("pending", None)


@pytest.mark.parametrize("damage", [None, "many", 1e300, -1e300, [1]])
def test_damaged_tries_of_a_queue_hold_up_no_rescue(damage: object) -> None:
    queue = make_queue()
    make_messages(queue, 1)
    lease_ends(*take_batch(queue))
    Channel.objects.filter(id=queue.id).update(address={"tries": damage})
    assert sum(recovery.recover(DELIVERY, 10).values()) == 1


def test_another_queue_can_neither_acknowledge_nor_return_a_lease(queue: Channel) -> None:
    make_messages(queue, 1)
    [message] = take_batch(queue)
    other = make_queue()
    assert ack(other, message) == [LeaseResult.NOT_FOUND]
    assert settle(queue, {"": None, "x" * 64: 5, "0" * 64: None}) == dict.fromkeys(
        ["", "x" * 64, "0" * 64], LeaseResult.NOT_FOUND
    )
    assert states(message) == ["sending"]


def test_one_lease_that_is_over_holds_up_no_other(queue: Channel) -> None:
    make_messages(queue, 2)
    late, fine = take_batch(queue)
    lease_ends(late)
    assert ack(queue, late, fine) == [LeaseResult.LATE, LeaseResult.ACKED]


# Settings


def test_the_largest_batch_of_the_queue_holds() -> None:
    queue = make_queue(batch_size=2)
    make_messages(queue, 5)
    assert len(take_batch(queue, 100)) == 2


def test_programs_hold_no_more_than_the_queue_allows() -> None:
    queue = make_queue(concurrency=3)
    make_messages(queue, 5)
    first = take_batch(queue, 2)
    assert len(take_batch(queue, 2)) == 1
    assert take_batch(queue, 2) == []
    ack(queue, *first)
    assert len(take_batch(queue, 10)) == 2


def test_with_one_at_a_time_messages_come_in_order_even_when_one_fails_for_long() -> None:
    queue = make_queue(concurrency=1)
    made = make_messages(queue, 3)
    [first] = take_batch(queue)
    assert take_batch(queue) == []
    give_back(queue, first, 60)
    assert pull.pull(queue, 1, 30.0, "token") == pull.Pulled([], pull.LONGEST_WAIT), "the first one comes again first"
    Delivery.objects.filter(id=first.id).update(available_at=NOON + timedelta(hours=1))
    [again] = take_batch(queue)
    assert again.id == first.id
    lease_ends(again)
    [third] = take_batch(queue)
    assert (third.id, third.tries) == (first.id, 3)
    ack(queue, third)
    assert [message.id for _ in range(2) for message in take_batch(queue) if ack(queue, message)] == [
        made[1].id,
        made[2].id,
    ]


def test_with_several_at_a_time_others_come_before_one_that_was_returned(queue: Channel) -> None:
    first, other = make_messages(queue, 2)
    [message] = take_batch(queue, 1)
    assert message.id == first.id
    give_back(queue, message, 60)
    assert [one.id for one in take_batch(queue)] == [other.id]


def test_a_batch_that_is_not_full_waits_for_its_time_out() -> None:
    queue = make_queue(batch_size=3, batch_timeout=10)
    fresh = [make_delivery(queue) for _ in range(2)]
    found = pull.pull(queue, 3, 30.0, "token")
    assert (found.messages, found.wait) == ([], pull.LONGEST_WAIT)
    Delivery.objects.filter(id=fresh[0].id).update(available_at=NOON)
    assert len(take_batch(queue, 3)) == 2


def test_a_full_batch_comes_at_once() -> None:
    queue = make_queue(batch_size=3, batch_timeout=10)
    for _ in range(4):
        make_delivery(queue)
    assert len(take_batch(queue, 3)) == 3
    assert take_batch(queue, 3) == []


def test_a_wait_ends_when_something_comes_due(queue: Channel) -> None:
    now = postgres.query("SELECT now() AS now", [])[0].now  # waits are on the database's clock
    for seconds in (9, 2):
        make_delivery(queue, available_at=now + timedelta(seconds=seconds))
    assert 0 < pull.pull(queue, 10, 30.0, "token").wait < 2.1
    make_messages(queue, 1)
    take_batch(queue, seconds=1.0)
    assert 0 < pull.pull(queue, 10, 30.0, "token").wait < 1.1


# Around it


def test_the_next_channel_in_order_is_tried_after_a_dead_letter_of_a_queue() -> None:
    person = make_user()
    queue, inbox = make_channel(person, "queue", address={"tries": 1}), make_channel(person)
    make_schedule(person, channels=[queue, inbox], in_order=True)
    fire.fire_due(NINE)
    [message] = take_batch(queue)
    give_back(queue, message)
    assert tried(Notification.objects.get(user=person)) == [("Queue", "dead"), ("Inbox", "pending")]


def test_a_queue_that_is_next_in_order_gets_its_message_unpublished() -> None:
    person = make_user()
    inbox, queue = make_channel(person), make_channel(person, "queue")
    make_schedule(person, channels=[inbox, queue], in_order=True, escalate_after=1)
    fire.fire_due(NINE)
    Notification.objects.update(advance_at=NOON)
    assert rescue.rescue()["followed"] == 1
    assert Delivery.objects.get(channel=queue).wake_at is None
    assert len(take_batch(queue)) == 1


def test_a_replayed_dead_letter_of_a_queue_is_pulled_again_from_the_first_attempt(
    queue: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[set[UUID]] = []
    monkeypatch.setattr(kind, "wake_pullers_after_commit", woken.append)
    dead = make_delivery(queue, state="dead")
    dead_letters.replay(Delivery.objects.filter(id=dead.id), "it", Who(None, "Ada"))
    dead.refresh_from_db()
    assert (dead.state, dead.wake_at, woken) == ("pending", None, [{queue.id}])
    [message] = take_batch(queue)
    assert (message.id, message.tries) == (dead.id, 1)


def test_removing_a_queue_cancels_what_waits_and_ends_what_is_held(queue: Channel) -> None:
    make_messages(queue, 2)
    [held] = take_batch(queue, 1)
    changes.remove(queue)
    assert sorted(Delivery.objects.values_list("state", flat=True)) == ["cancelled", "sending"]
    lease_ends(held)
    recovery.recover(DELIVERY, 10)
    assert states(held) == ["dead"]
    dead_letters.replay(Delivery.objects.filter(state="dead"), "all", Who(None, "Operator"))
    assert states(held) == ["cancelled"], "nobody could pull it any more"


def test_what_was_being_recorded_for_a_queue_when_it_was_removed_is_cancelled_later() -> None:
    removed, other = make_queue(), make_queue()
    ended = make_delivery(removed).notification
    Notification.objects.filter(id=ended.id).update(channel_order=[removed.id])
    changes.remove(removed)
    fallback.advance()
    left, waiting = make_delivery(removed), make_delivery(other)  # as a transaction that began before has them
    tasks.prune_changes()
    assert states(left, waiting) == ["cancelled", "pending"]
    left.refresh_from_db()
    assert left.reason_code == DeliveryCode.REMOVED
    assert Notification.objects.get(id=left.notification_id).outcome == "dropped"
    ended.refresh_from_db()
    assert ended.advance_at is None, "it was decided before"


def test_failures_of_a_queue_never_disable_it() -> None:
    queue = make_queue(tries=1)
    make_messages(queue, 1)
    [message] = take_batch(queue)
    give_back(queue, message)
    queue.refresh_from_db()
    assert (queue.failing_since, queue.disabled_at) == (None, None)


def test_cancelling_a_reminder_takes_its_message_out_of_the_queue(queue: Channel) -> None:
    [waiting] = make_messages(queue, 1)
    manual.cancel(Delivery, [waiting.id], manual.Reason("cancelled"))
    assert take_batch(queue) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("most", [1, 7, 250])
def test_pullers_at_once_never_hold_the_same_message_nor_more_than_allowed(most: int) -> None:
    queue = make_queue(concurrency=most)
    made = make_messages(queue, 40)

    def work(_: int) -> list[tuple[int, list[Any]]]:
        found = []
        try:
            for _ in range(60):
                messages = pull.pull(queue, 5, 30.0, "token").messages
                left = list(Delivery.objects.exclude(state="delivered").values_list("state", flat=True))
                found.append((left.count("sending"), [message.id for message in messages]))
                settle(queue, {lease_id(message): None for message in messages})
                if not left:
                    break
        finally:
            close_old_connections()
            connection.close()
        return found

    with ThreadPoolExecutor(4) as pool:
        found = [one for per_thread in pool.map(work, range(4)) for one in per_thread]
    assert max(held for held, _ in found) <= most
    pulled = [key for _, keys in found for key in keys]
    assert sorted(pulled) == sorted(one.id for one in made)
    assert set(states(*made)) == {"delivered"}


@pytest.mark.parametrize("others", [1, 10_000])
def test_a_pull_reads_only_its_own_indexes_whatever_the_planner_last_heard(others: int) -> None:
    person = make_user()
    queue = make_channel(person, "queue")
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no triggers: the rows are only there to be counted
        for state, count, channels in (
            ("delivered", 20_000, others),
            ("pending", 10_000, 1),
            ("pending", 10_000, others),
        ):
            cursor.execute(
                "INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries,"
                " replays, settled_at) SELECT gen_random_uuid(), gen_random_uuid(),"
                " CASE WHEN n %% %s = 0 THEN %s ELSE md5((n %% %s)::text)::uuid END, 'queue', %s, 0, 0, 0,"
                " CASE WHEN %s <> 'pending' THEN now() END FROM generate_series(1, %s) AS n",
                [channels, queue.id, channels, state, state, count],
            )
            if state == "delivered":
                cursor.execute("ANALYZE notifications_delivery")
        cursor.execute("SET session_replication_role = DEFAULT")
        values = {"channel": queue.id, "most": 10, "again": False, "takes": 5}
        for statement in (pull._COUNT, pull._CHOOSE):
            cursor.execute(f"EXPLAIN {statement}", values)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            scans = re.findall(r"(?:using|Index Scan on) (\w*delivery\w*)", plan)
            assert set(scans) <= {"delivery_to_pull", "delivery_pulled"}, plan
            assert "Seq Scan" not in plan


def test_a_rule_puts_what_an_event_says_into_a_queue_with_its_chain() -> None:
    person, chain = make_user(), "brand-cycle-llc-tax-2026-03-14"
    queue = make_channel(person, "queue")
    make_rule(person, channels=[queue])
    happen(person, correlation_id=chain)
    [message] = take_batch(queue)
    assert (message.message.subject, message.message.correlation_id) == ("Order 7", chain)
