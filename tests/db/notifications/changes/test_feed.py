"""The feed of changes: what is recorded, for whom, and that a reader misses nothing."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from common.database.paging import LAST_ID
from common.database.postgres import query
from notifications.changes import feed
from notifications.changes.feed import START, Entry, Position
from notifications.channels import changes
from notifications.models import Change, Channel, Delivery
from people import tokens
from people.models import ApiToken, User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NINE, NOON, make_channel, make_delivery, make_schedule, make_user, settle, taken
from work.engine.manual import cancel
from work.reasons import NO_REASON


@pytest.fixture
def ada() -> User:
    """Somebody with a token."""
    user = make_user(email="ada@example.org")
    tokens.create(user, "Test", ["read"], None)
    return user


def recorded(user: User) -> list[str]:
    """The types, in the order of their being recorded; also those that no reader gets yet."""
    return list(Change.objects.filter(user=user).order_by("xact", "id").values_list("type", flat=True))


def finish(delivery: Delivery, state: str) -> None:
    settle(taken(delivery.id), state)


@pytest.mark.parametrize(("state", "outcome"), [("delivered", "full"), ("dead", "failed"), ("unknown", "failed")])
def test_the_end_of_a_delivery_is_recorded_with_its_notifications_outcome(ada: User, state: str, outcome: str) -> None:
    channel = make_channel(ada, "email")
    delivery = make_delivery(channel)
    Change.objects.all().delete()
    finish(delivery, state)
    assert set(recorded(ada)) == {f"delivery.{state}", f"notification.{outcome}"}
    change = Change.objects.get(type=f"delivery.{state}")
    assert change.data == {
        "delivery_id": str(delivery.id),
        "notification_id": str(delivery.notification_id),
        "channel_id": str(channel.id),
        "provider": "email",
        "schedule_id": None,
        "correlation_id": str(delivery.notification.batch_id),
        "reason": "" if state == "delivered" else "note",
    }


def test_a_try_that_is_repeated_is_no_change_and_a_cancelled_delivery_is(ada: User) -> None:
    delivery = make_delivery(make_channel(ada))
    Change.objects.all().delete()
    settle(taken(delivery.id), "pending", wait=0.0, wake=0.0)
    assert recorded(ada) == []
    cancel(Delivery, [delivery.id], NO_REASON)
    assert set(recorded(ada)) == {"delivery.cancelled", "notification.dropped"}


def test_each_act_on_a_schedule_is_recorded_once(ada: User) -> None:
    schedule = make_schedule(ada)
    Change.objects.all().delete()
    editing.pause(schedule.id, NOON)
    editing.resume(schedule.id, NOON)
    editing.skip_next(schedule.id, NINE, NOON)
    editing.unskip(schedule.id, NINE, NOON)
    editing.run_now(schedule.id, NOON)
    fire.fire_due(NINE)
    editing.delete(schedule.id, NINE + timedelta(hours=1))
    assert [one for one in recorded(ada) if one.startswith("schedule.")] == [
        *("schedule.paused", "schedule.resumed", "schedule.skipped", "schedule.unskipped", "schedule.fired"),
        *("schedule.fired", "schedule.deleted"),
    ]
    fired = Change.objects.filter(type="schedule.fired").latest("xact", "id")
    occurrence = schedule.occurrences.get(scheduled_for=NINE)
    assert fired.data == {
        "schedule_id": str(schedule.id),
        "slot_at": "2026-06-02T09:00:00Z",
        "correlation_id": str(occurrence.id),
        "reason": "",
    }


def test_a_schedule_that_ends_or_breaks_is_recorded(ada: User) -> None:
    inbox = make_channel(ada)
    make_schedule(ada, [inbox], max_count=1)
    broken = make_schedule(ada, [inbox])
    Schedule.objects.filter(id=broken.id).update(rule={"time": "nine"})
    fire.fire_due(NINE)
    assert {"schedule.finished", "schedule.broken"} <= set(recorded(ada))


def test_what_becomes_of_a_channel_is_recorded(ada: User) -> None:
    channel = make_channel(ada, "email", verified_at=None)
    Channel.objects.filter(id=channel.id).update(verified_at=NOON)
    changes.disable([channel.id], "Too many complaints.")
    changes.enable([channel.id])
    changes.change_settings(channel, "Other", False, "", None)
    changes.remove(channel)
    assert recorded(ada) == [f"channel.{what}" for what in ("added", "verified", "disabled", "enabled", "removed")]
    assert Change.objects.get(type="channel.disabled").data["reason"] == "note"


def test_nothing_is_recorded_for_those_whom_no_program_follows() -> None:
    nobody = make_user()
    schedule = make_schedule(nobody)
    fire.fire_due(NINE)
    for delivery in Delivery.objects.all():
        finish(delivery, "delivered")
    editing.pause(schedule.id, NINE)
    assert not Change.objects.exists()


@pytest.mark.parametrize(("days", "followed"), [(6, True), (8, False)])
def test_a_token_counts_until_a_week_after_its_end(days: int, followed: bool) -> None:
    user, ended = make_user(), timezone.now() - timedelta(days=days)
    tokens.create(user, "Test", ["read"], None)
    for end in ({"revoked_at": ended}, {"revoked_at": None, "expires_at": ended}):
        ApiToken.objects.update(**end)
        Change.objects.all().delete()
        make_channel(user, "email")
        assert recorded(user) == ["channel.added"] * followed


def test_what_is_older_than_a_week_is_pruned_in_chunks(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_CHUNK", 2)
    for _ in range(5):
        make_channel(ada, "email")
    Change.objects.update(at=timezone.now() - timedelta(days=8))
    make_channel(ada, "email")
    assert feed.prune() == 5
    assert Change.objects.count() == 1


def test_the_changes_of_an_account_are_deleted_with_it(ada: User) -> None:
    make_channel(ada, "email")
    other = make_user()
    tokens.create(other, "Test", ["read"], None)
    make_channel(other, "email")
    ada.delete()
    assert Change.objects.get().user_id == other.pk


# What a reader gets depends on other transactions, so these commit.


def read_until(user: User, count: int, after: Position = START) -> list[Entry]:
    """All changes, once there are so many: a transaction of another test may hold them back."""
    found, deadline = list[Entry](), time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        page = feed.read(user.pk, after, 50)
        found, after = found + list(page.changes), page.position
    return found


@pytest.mark.django_db(transaction=True)
def test_a_poller_beside_eight_writers_that_commit_late_sees_every_change_once(ada: User) -> None:
    channel, writers, each = make_channel(ada, "email"), 8, 25
    written, lock, seen, over = set[str](), threading.Lock(), list[Entry](), threading.Event()

    def write(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(each):
            delivery = make_delivery(channel)
            claim = taken(delivery.id)
            with transaction.atomic():
                settle(claim, "delivered")
                over.wait(dice.uniform(0, 0.05))  # others that began later commit earlier
            with lock:
                written.add(str(delivery.id))
        connection.close()

    def poll() -> None:
        position = START
        while True:
            last = over.is_set()
            page = feed.read(ada.pk, position, 7, ["delivery.*"])
            seen.extend(page.changes)
            position = page.position
            if last and not page.more and len(seen) >= writers * each:
                break
        connection.close()

    with ThreadPoolExecutor(writers + 1) as pool:
        poller = pool.submit(poll)
        for work in [pool.submit(write, number) for number in range(writers)]:
            work.result()
        over.set()
        poller.result(timeout=60)
    ids = [change.data["delivery_id"] for change in seen]
    assert len(ids) == len(set(ids)) == writers * each
    assert set(ids) == written


@pytest.mark.django_db(transaction=True)
def test_a_change_waits_for_an_older_transaction_and_comes_behind_its_changes(ada: User) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def commit_late() -> None:
        with transaction.atomic():
            make_channel(ada, "email", label="late")
            begun.set()
            go_on.wait(60)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(commit_late)
        begun.wait(60)
        make_channel(ada, "webhook")
        assert feed.read(ada.pk, START, 10).changes == []
        go_on.set()
        late.result()
    assert [change.data["provider"] for change in read_until(ada, 2)] == ["email", "webhook"]


@pytest.mark.django_db(transaction=True)
def test_the_position_moves_on_although_nothing_is_found(ada: User) -> None:
    make_channel(ada, "email")
    [first] = read_until(ada, 1)
    page = feed.read(ada.pk, START, 10, ["delivery.*"])
    assert page.changes == [] and page.position.xact > first.xact
    assert feed.read(ada.pk, page.position, 10).changes == []


def test_the_position_never_goes_back(ada: User) -> None:
    [newest] = query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xact", None)
    ahead = Position(newest.xact, LAST_ID)  # as another server of the database has read it
    assert feed.read(ada.pk, ahead, 10).position == ahead


def test_a_position_of_another_database_is_refused(ada: User) -> None:
    with pytest.raises(feed.Foreign):
        feed.read(ada.pk, Position(2**62, START.change_id), 10)


@pytest.mark.django_db(transaction=True)
def test_nobody_reads_anothers_changes(ada: User) -> None:
    make_channel(ada, "email")
    read_until(ada, 1)
    assert feed.read(make_user().pk, START, 10).changes == []
