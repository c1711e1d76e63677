"""A change of quiet hours releases a bounded part of what they hold; rescue goes on from there, in batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Q
from django.utils import timezone

from common.database import postgres
from notifications.deliveries import outbox, quiet_changes
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel, Delivery
from notifications.reasons import DeliveryCode
from people.models import User
from tests.db.locks import impatient, locked
from tests.make import make_channel, make_delivery, make_user
from work.broker import wakes
from work.engine import rescue

pytestmark = pytest.mark.django_db

HELD = {"reason_code": str(DeliveryCode.QUIET_HOURS), "reason_params": {"until": "07:00"}}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_changes, "FIRST", 3)
    monkeypatch.setattr(quiet_changes, "BATCH", 4)


def hold(channel: Channel, count: int, **overrides: Any) -> list[UUID]:
    """The ids of so many deliveries that wait for the end of quiet hours, oldest first."""
    end = timezone.now() + timedelta(hours=8)
    return [make_delivery(channel, **HELD | {"available_at": end, "wake_at": end} | overrides).id for _ in range(count)]


def held() -> set[UUID]:
    return set(Delivery.objects.filter(reason_code=DeliveryCode.QUIET_HOURS).values_list("id", flat=True))


def change_quiet_hours(user: User) -> None:
    user.quiet_from = user.quiet_until = None
    user.save(update_fields=["quiet_from", "quiet_until"])


def marked() -> int:
    return Channel.objects.filter(held_after__isnull=False).count()


def is_needed() -> bool:
    return bool(postgres.query(rescue.needed(), {}))


def test_the_first_ones_are_released_at_once_and_all_others_in_batches() -> None:
    user = make_user()
    many, few = hold(make_channel(user, "email"), 9), hold(make_channel(user, "webhook"), 2)
    others = hold(make_channel(make_user(), "email"), 1)
    change_quiet_hours(user)
    assert held() == {*many[3:], *others}
    assert marked() == 1
    Delivery.objects.exclude(id__in=held()).update(state="cancelled", wake_at=None, settled_at=timezone.now())
    assert is_needed()
    assert DELIVERY.rescue() == 4
    assert held() == {*many[7:], *others}
    released = Delivery.objects.filter(id__in=many[3:7])
    assert not released.filter(Q(available_at__gt=timezone.now()) | Q(wake_at__gt=timezone.now())).exists()
    assert (DELIVERY.rescue(), marked(), held()) == (2, 0, set(others))
    assert DELIVERY.rescue() == 0
    assert not set(few) & held()


@pytest.mark.parametrize("hours", [-2, 2])
def test_what_is_released_is_due_as_it_was_before_and_published_then(
    hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[wakes.Wake] = []
    monkeypatch.setattr(quiet_changes, "publish_after_commit", published.extend)
    user, [(now,)] = make_user(), postgres.query("SELECT now()", {})
    due = now + timedelta(hours=hours)
    hold(make_channel(user, "email"), 1, reason_params={"until": "07:00", "due": due.timestamp()}, wakes=3)
    change_quiet_hours(user)
    delivery, wait = Delivery.objects.get(), max(0.0, hours * 3600.0)
    assert [delivery.available_at, delivery.wake_at] == [
        now + timedelta(seconds=seconds) for seconds in (wait, wakes.wake_in(wait))
    ]
    assert delivery.wakes == 0
    assert published == [wakes.Wake(outbox.DELIVER, delivery.id, pytest.approx(wait), user.pk)]


@pytest.mark.parametrize(
    ("changed", "decides"),
    [
        ("quiet_from", True),
        ("quiet_until", True),
        ("time_zone", True),
        ("weekly_hours", True),
        ("public_holidays", True),
        ("name", False),
    ],
)
def test_a_change_of_anything_that_decides_on_quiet_hours_releases_and_no_other_does(
    changed: str, decides: bool
) -> None:
    user = make_user()
    ids = hold(make_channel(user, "email"), 1)
    user.save(update_fields=[changed])
    assert held() == (set() if decides else set(ids))


def test_what_is_held_anew_meanwhile_is_not_released_again() -> None:
    channel = make_channel(make_user(), "email")
    ids = hold(channel, 9)
    change_quiet_hours(channel.user)
    Delivery.objects.filter(id__in=ids[:2]).update(**HELD)  # as a worker does by the new hours
    while DELIVERY.rescue():
        pass
    assert held() == set(ids[:2])


def test_a_second_change_begins_anew() -> None:
    channel = make_channel(make_user(), "email")
    ids = hold(channel, 9)
    change_quiet_hours(channel.user)
    DELIVERY.rescue()
    Delivery.objects.filter(id__in=ids).update(**HELD)
    change_quiet_hours(channel.user)
    while DELIVERY.rescue():
        pass
    assert not held()


def test_what_waits_for_another_reason_counts_for_the_batch_and_stays_as_it_is() -> None:
    channel = make_channel(make_user(), "email")
    later = timezone.now() + timedelta(hours=1)
    busy = [make_delivery(channel, available_at=later, reason="Busy.").id for _ in range(5)]
    [last] = hold(channel, 1)
    change_quiet_hours(channel.user)
    assert held() == {last}
    assert DELIVERY.rescue() == 1
    assert set(Delivery.objects.filter(id__in=busy).values_list("available_at", "reason_code")) == {(later, "note")}


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_what_somebody_else_has_locked() -> None:
    channel = make_channel(make_user(), "email")
    ids = hold(channel, 5)
    with locked("notifications_delivery", ids[0]), impatient():
        change_quiet_hours(channel.user)
    assert held() == {ids[0], *ids[3:]}
    with locked("notifications_channel", channel.id), impatient():
        assert DELIVERY.rescue() == 0
    assert DELIVERY.rescue() == 2
