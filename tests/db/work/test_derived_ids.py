"""A copy of the database that was restored makes the same ids again, so that receivers know what they have had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from common.uuid7 import child, child_sql, uuid7
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Event
from events.pure.envelope import Envelope
from jobs.batches.kind import BATCH
from jobs.models import Batch
from notifications.deliveries import fallback
from notifications.messages.message import Rejected
from notifications.models import Delivery
from people.models import User
from schedules.firing import fire
from schedules.models import Occurrence
from tests.make import NINE, deliver_first, make_channel, make_fired, make_rule, make_schedule, make_user, noted
from work.engine import runner


class Undone(Exception):
    pass


@contextmanager
def undone() -> Iterator[None]:
    """What is done within is not there afterwards, as after a restore."""
    with pytest.raises(Undone), transaction.atomic():
        yield
        raise Undone


def ids_of(act: Callable[[], object]) -> list[tuple[UUID, UUID]]:
    with undone():
        act()
        ids = sorted(Delivery.objects.values_list("id", "notification_id"))
    return ids


@pytest.mark.parametrize("parent", [uuid7(), uuid4()])
def test_sql_derives_as_python_does(parent: UUID, db: None) -> None:
    statement = f"SELECT {child_sql('parent', 'key')} FROM (SELECT %s::uuid AS parent, %s AS key) given"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(statement, [parent, 42])
        [made] = cursor.fetchone()
    assert made.version == 7
    assert (made == child(parent, 42)) is (parent.version == 7)


def test_a_slot_makes_the_same_ids_again_however_late(ada: User) -> None:
    make_schedule(ada, [make_channel(ada), make_channel(ada, "webhook")])
    made = [ids_of(lambda: fire.fire_due(NINE)), ids_of(lambda: fire.fire_due(NINE + timedelta(minutes=15)))]
    assert made[0] == made[1]
    assert len(made[0]) == 2


def test_two_reminders_of_one_slot_have_different_ids(ada: User) -> None:
    inbox = make_channel(ada)
    for _ in range(2):
        make_schedule(ada, [inbox])
    fire.fire_due(NINE)
    assert len(set(Occurrence.objects.values_list("id", flat=True))) == 2


def test_so_does_the_next_channel_in_order(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    notification, _channels = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("No.")))
    made = [ids_of(fallback.advance), ids_of(fallback.advance)]
    assert made[0] == made[1]
    assert len(made[0]) == 2


def test_so_does_an_event(ada: User) -> None:
    make_rule(ada)
    make_rule(ada)
    ledger.record(ada.pk, [Envelope(type="order.paid", source="shop", data={"order_id": 7, "amount": 120})])
    event = Event.objects.get()
    made = [ids_of(lambda: runner.run(EVENT, event.id, "worker")) for _ in range(2)]
    assert made[0] == made[1]
    assert len(made[0]) == 2


def test_so_does_an_announcement(ada: User) -> None:
    for person in (ada, make_user()):
        make_channel(person)
    User.objects.update(date_joined=NINE - timedelta(days=1))
    schedule = make_schedule(make_user(is_staff=True, date_joined=NINE + timedelta(days=1)), [], audience="everybody")

    def announce() -> None:
        fire.fire_due(NINE)
        batch = Batch.objects.get()
        assert batch.id == Occurrence.objects.get(schedule=schedule).id
        runner.run(BATCH, batch.id, "worker")

    made = [ids_of(announce), ids_of(announce)]
    assert made[0] == made[1]
    assert len(made[0]) == 2
