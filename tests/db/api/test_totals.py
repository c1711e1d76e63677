"""Totals of a person's work, which stay when what they counted is deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from common.database import sums
from notifications.models import Attempt, Channel, Delivery, Notification
from people.models import ApiToken, User
from tests.db.api.conftest import Api
from tests.make import make_channel, make_delivery, make_user, make_watch, send_now, without_triggers
from watches import pings
from watches.models import Ping
from watches.pings import NewPing
from work import totals
from work.models import PersonTotal
from work.totals import DAY, LIFETIME, MINUTE

pytestmark = pytest.mark.django_db


def send(inbox: Channel, provider: str, began: datetime, **outcome: str) -> None:
    """A delivery whose try began then, and took two seconds."""
    delivery = make_delivery(inbox)
    send_now(delivery.id)
    ended = began + timedelta(seconds=2)
    with without_triggers():
        of_try = {"outcome": "rejected"} if outcome else {}
        Attempt.objects.filter(delivery=delivery).update(started_at=began, finished_at=ended, **of_try)
        Delivery.objects.filter(pk=delivery.pk).update(provider=provider, settled_at=ended, **outcome)


def listed(api: Api, span: str) -> list[tuple[object, ...]]:
    items = api.get(f"/me/totals?span={span}").json()["items"]
    return sorted((one["kind"], one["handler"], one["tries"], one["done"], one["dead"]) for one in items)


def test_what_was_sent_delivered_and_dead_is_counted_by_provider_and_outlives_its_rows(ada: User, api: Api) -> None:
    now, inbox = timezone.now(), make_channel(ada)
    for minutes in (10, 10, 60 * 24 * 3):
        send(inbox, "inbox", now - timedelta(minutes=minutes))
    send(inbox, "webhook", now - timedelta(minutes=10), state="dead")
    send(make_channel(make_user()), "inbox", now - timedelta(minutes=10))
    assert totals.count() == 5
    Notification.objects.all().delete()
    assert totals.count() == 0
    assert listed(api, "lifetime") == [("delivery", "inbox", 3, 3, 0), ("delivery", "webhook", 1, 0, 1)]
    assert sum(row[2] for row in listed(api, "day")) == 4  # type: ignore[misc]
    assert listed(api, "minute") == [("delivery", "inbox", 2, 2, 0), ("delivery", "webhook", 1, 0, 1)]
    [item] = [one for one in api.get("/me/totals").json()["items"] if one["handler"] == "inbox"]
    assert item["began_at"] == "1970-01-01T00:00:00Z"
    assert api.get("/me/totals?span=week").status_code == 422


def test_minutes_and_days_are_forgotten_and_the_lifetime_is_not(ada: User) -> None:
    now = timezone.now()
    for span, days in ((MINUTE, 0.05), (MINUTE, 0.1), (DAY, 365), (DAY, 367), (LIFETIME, 20_000)):
        start, counts = now - timedelta(days=days), {"tries": 1, "done": 1, "dead": 0}
        PersonTotal.objects.create(user=ada, span=span, start=start, kind="delivery", handler="inbox", **counts)
    totals.count()
    assert sorted(PersonTotal.objects.values_list("span", flat=True)) == [LIFETIME, MINUTE, DAY]


def test_pings_and_calls_are_counted_in_memory_and_written_together(
    ada: User, api: Api, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(sums, "_is_started", True)
    watch = make_watch(ada, [])
    new = [NewPing(watch.token, kind) for kind in ("success", "fail", "log")]
    assert pings.record([*new, *new[:1], NewPing(uuid4(), "success")]) == ["taken"] * 4 + ["unknown"]
    for path in ("/me", "/me/totals?span=week", f"/watches/{watch.id}"):
        api.get(path)
    Client().get("/api/v1/me")  # without a token
    assert not PersonTotal.objects.exists()
    with django_assert_num_queries(2):
        for one in sums._all:
            one.flush()
    for one in sums._all:  # nothing is left to write
        one.flush()
    Ping.objects.all().delete()
    found = [("api", "", 3, 2, 0), ("ping", "", 3, 1, 1)]
    assert listed(api, "lifetime") == listed(api, "day") == listed(api, "minute") == found
    [token] = ApiToken.objects.filter(user=ada)
    assert token.calls == 3


def test_sums_that_cannot_be_written_are_written_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[tuple[Any, ...]]] = []

    def write(found: list[tuple[Any, ...]]) -> None:
        written.append(found)
        if len(written) == 1:
            raise OperationalError

    monkeypatch.setattr(sums, "_all", [])
    of_keys = sums.Sums[tuple[str]](write)
    of_keys.add(("a",), 1, 0)
    of_keys.flush()
    assert not written, "no process writes what it does not flush"
    monkeypatch.setattr(sums, "_is_started", True)
    of_keys.add(("a",), 1, 0)
    with pytest.raises(OperationalError):
        of_keys.flush()
    of_keys.add(("a",), 2, 5)
    of_keys.flush()
    of_keys.flush()
    assert written == [[("a", 1, 0)], [("a", 3, 5)]]
