"""Progress in few statements, two who count at once, cancelling and leaving while a worker tells, and replay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from common.database import fault_points
from common.uuid7 import uuid7
from jobs.batches import kind, progress, withdrawal
from jobs.batches.progress import Progress
from jobs.models import Batch, Leaver, Part
from notifications.models import Delivery, Notification
from people.models import User
from tests.db.jobs.test_audiences import LONG_AGO, announce, make_reader, tell, told
from tests.db.locks import wait_for_a_lock
from tests.make import make_user, send_now, settle, take
from work.dead_letters import Who
from work.models import Intervention

WAITING = 120  # seconds until a test gives up

_MANY = """
WITH people AS (
    INSERT INTO people_user (email, name, time_zone, password, is_active, is_staff, is_superuser, date_joined)
    SELECT 'reader' || n || '@example.org', 'Reader', 'UTC', '', true, false, false, '2026-01-01Z'
      FROM generate_series(1, 1000) n RETURNING id
)
INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown, verified_at)
SELECT gen_random_uuid(), id, 'inbox', 'Inbox', '{}', '', '', now() FROM people
"""


@pytest.fixture
def staff() -> User:
    return make_user(is_staff=True, date_joined=LONG_AGO.replace(year=2099))


def counted(batch: Batch) -> Progress:
    return progress.progress_of(Batch.objects.with_counts().get(id=batch.id))


def test_the_progress_of_1000_people_is_counted_in_few_statements(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "PART", 250)
    with connection.cursor() as cursor:
        cursor.execute(_MANY)
    batch = tell(announce(staff))
    assert (batch.size, Part.objects.count()) == (1000, 4)
    with CaptureQueriesContext(connection) as captured:
        progress.count_open()
        assert counted(batch) == Progress(1000, 0, 0, 0, 0)
    assert len(captured) == 3


def test_only_open_parts_of_open_batches_are_counted_and_first_those_counted_longest_ago(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "PART", 1)
    monkeypatch.setattr(progress, "PARTS_A_TICK", 1)
    [make_reader() for _ in range(3)]
    tell(announce(staff))
    parts = list(Part.objects.order_by("id"))
    for days, part in enumerate(parts):
        Part.objects.filter(id=part.id).update(counted_at=LONG_AGO + timedelta(days=days))
    Part.objects.filter(id=parts[0].id).update(pending=0, completed=1)
    stale = Part.objects.filter(counted_at__lt=LONG_AGO + timedelta(days=9)).order_by("id")
    assert [(progress.count_open(), list(stale.all())) for _ in range(2)] == [
        (1, [parts[0], parts[2]]),
        (1, [parts[0]]),
    ]
    Batch.objects.update(ended_at=Now())
    assert progress.count_open() == 0


def test_a_batch_that_nobody_has_begun_is_at_0_percent_and_an_empty_one_at_100(staff: User) -> None:
    batch = announce(staff)
    progress.count_open()
    batch.refresh_from_db()
    assert (counted(batch).percent, batch.ended_at) == (0.0, None)
    tell(batch)
    assert counted(batch).percent == 100.0


def test_the_owner_of_a_topic_sees_who_is_not_told_yet_as_pending_only() -> None:
    batch = announce(make_user())
    Batch.objects.update(size=5, told=2)
    batch.refresh_from_db()
    assert progress.shown(batch) == Progress(3, 0, 2, 0, 0, is_complete=False)


def test_what_failed_is_replayed_oldest_first_with_a_record_and_the_batch_is_open_again(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MOST_REPLAYED", 2)
    for _ in range(3):
        make_reader()
    batch = tell(announce(staff))
    fail(Delivery.objects.all())
    progress.count_open()
    batch.refresh_from_db()
    assert (counted(batch).failed, batch.ended_at is not None) == (3, True)
    assert progress.replay(batch, Who(staff.pk, staff.email)) == 2
    batch.refresh_from_db()
    assert (counted(batch), batch.ended_at) == (Progress(2, 0, 0, 1, 0), None)
    assert Intervention.objects.get().count == 2
    for delivery in Delivery.objects.filter(state="pending"):
        send_now(delivery.id)
    progress.count_open()
    batch.refresh_from_db()
    assert (counted(batch), batch.ended_at is not None) == (Progress(0, 0, 2, 1, 0), True)


def test_nothing_of_a_cancelled_batch_is_replayed(staff: User) -> None:
    make_reader()
    batch = tell(announce(staff))
    fail(Delivery.objects.all())
    withdrawal.cancel(batch)
    batch.refresh_from_db()
    assert progress.replay(batch, Who(staff.pk, staff.email)) == 0
    assert Delivery.objects.get().state == "dead"


def test_the_parts_of_a_cancelled_batch_are_cancelled_once_each(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "PART", 1)
    monkeypatch.setattr(progress, "PARTS_A_TICK", 1)
    [make_reader() for _ in range(2)]
    batch = tell(announce(staff))
    withdrawal.cancel(batch)
    cancelled = Delivery.objects.filter(state="cancelled")
    assert [(withdrawal.cancel_parts(), cancelled.count()) for _ in range(3)] == [(1, 1), (1, 2), (0, 2)]
    assert counted(batch) == Progress(0, 0, 0, 0, 2)


def test_a_batch_that_died_is_told_on_once_it_is_replayed(staff: User) -> None:
    make_reader()
    batch = announce(staff)
    Batch.objects.update(audience="gone")
    assert tell(batch).state == "dead"
    Batch.objects.update(audience="everybody")
    assert progress.replay(batch, Who(staff.pk, staff.email)) == 1
    assert (tell(batch).state, batch.reached) == ("told", 1)


def test_an_announcement_whose_owner_is_no_staff_any_more_or_switched_off_ends_visibly(staff: User) -> None:
    make_reader()
    for missing, batch in zip(("is_staff", "is_active"), [announce(staff), announce(staff)], strict=True):
        User.objects.filter(pk=staff.pk).update(**{"is_staff": True, "is_active": True} | {missing: False})
        assert (tell(batch).state, batch.reason_code) == ("dead", "announced-by-no-staff")
    assert told() == []


def test_a_damaged_message_ends_its_batch_alone(staff: User) -> None:
    make_reader()
    damaged, sound = announce(staff), announce(staff)
    Batch.objects.filter(id=damaged.id).update(message=["nonsense"])
    assert tell(sound).state == "told"
    for _ in range(7):
        Batch.objects.filter(id=damaged.id).update(available_at=LONG_AGO)
        if tell(damaged).state == "dead":
            break
    assert damaged.state == "dead"
    assert set(Notification.objects.values_list("batch_id", flat=True)) == {sound.id}


def test_who_leaves_is_told_no_more_and_what_waits_for_them_is_cancelled(staff: User) -> None:
    stays, leaves = make_reader(), make_reader()
    batch = tell(announce(staff))
    withdrawal.leave(leaves.pk, batch.origin_id)
    withdrawal.leave(leaves.pk, batch.origin_id)
    states = dict(Delivery.objects.values_list("notification__user_id", "state"))
    assert states == {stays.pk: "pending", leaves.pk: "cancelled"}
    elsewhere = Leaver.objects.create(origin_id=uuid7(), user=leaves)
    withdrawal.come_back(leaves.pk, batch.origin_id)
    assert Leaver.objects.get() == elsewhere


def fail(deliveries: Any) -> None:
    for delivery in deliveries:
        claim = take(delivery.id)
        assert claim is not None
        settle(claim, "dead")


class Workers:
    """Runs functions in threads with connections of their own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(4)

    def start(self, function: Any, *args: Any) -> Any:
        def run() -> Any:
            try:
                return function(*args)
            finally:
                connections.close_all()

        return self._pool.submit(run)

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def workers() -> Iterator[Workers]:
    found = Workers()
    yield found
    found.close()


@pytest.mark.django_db(transaction=True)
def test_two_who_count_at_once_end_a_batch_once(
    staff: User, workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kind, "PART", 1)
    for _ in range(4):
        make_reader()
    batch = tell(announce(staff))
    for delivery in Delivery.objects.all():
        send_now(delivery.id)
    with caplog.at_level("INFO", "jobs.batches.progress"):
        for one in [workers.start(progress.count_open) for _ in range(4)]:
            one.result(WAITING)
        progress.count_open()
    assert counted(batch) == Progress(0, 0, 4, 0, 0)
    said = [record.getMessage() for record in caplog.records if record.name == "jobs.batches.progress"]
    assert said == [f"Batch {batch.id} ended: 4 of 4 people were reached"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["cancel", "leave"])
def test_cancelling_and_leaving_while_a_worker_tells_reaches_what_it_has_recorded(
    staff: User, workers: Workers, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """The worker stands still after its first part, while another connection acts."""
    monkeypatch.setattr(kind, "PART", 1)
    first, second = make_reader(), make_reader()
    batch = announce(staff)
    recorded, acted = threading.Event(), threading.Event()

    def stop(point: str) -> None:
        if point == "chunk-told" and not recorded.is_set():
            recorded.set()
            assert acted.wait(WAITING)

    monkeypatch.setattr(fault_points, "reach", stop)
    telling = workers.start(tell, batch)
    assert recorded.wait(WAITING)
    if act == "cancel":
        withdrawal.cancel(batch)
    else:
        withdrawal.leave(first.pk, batch.origin_id)
        withdrawal.leave(second.pk, batch.origin_id)
    acted.set()
    telling.result(WAITING)
    assert told() == [first.pk]
    if act == "cancel":
        assert tell(batch).state == "cancelled"
        withdrawal.cancel_parts()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}
    progress.count_open()
    batch.refresh_from_db()
    assert batch.ended_at is not None


@pytest.mark.django_db(transaction=True)
def test_who_leaves_during_the_statement_that_tells_them_is_cancelled_after_it(
    staff: User, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part holds the batch's lock, so that leaving waits for it and finds what it has recorded."""
    reader = make_reader()
    batch = announce(staff)
    locked, leaving = threading.Event(), threading.Event()
    telling_of = kind.postgres.query

    def slow(statement: str, values: Any, *args: Any) -> Any:
        rows = telling_of(statement, values, *args)
        if "INSERT INTO notifications_notification" in statement:
            locked.set()
            assert leaving.wait(WAITING)
            wait_for_a_lock()
        return rows

    monkeypatch.setattr(kind.postgres, "query", slow)
    telling = workers.start(tell, batch)
    assert locked.wait(WAITING)
    left = workers.start(withdrawal.leave, reader.pk, batch.origin_id)
    leaving.set()
    telling.result(WAITING)
    left.result(WAITING)
    assert [one.state for one in Delivery.objects.all()] == ["cancelled"]
