"""The chart of the history: what arrived and what failed, day by day."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from notifications.web import chart as charts
from notifications.web.chart import Chart
from people.models import User
from tests.db.notifications.web.test_history_filters import MANY, sent
from tests.make import make_channel, make_user

pytestmark = pytest.mark.django_db


def chart(browser: Client, **asked: Any) -> Chart | None:
    found: Chart | None = browser.get(f"/history/?{urlencode(asked)}").context["chart"]
    return found


def counts(found: Chart | None) -> dict[str, tuple[int, int]]:
    assert found is not None
    return {bar.first.isoformat(): (bar.delivered, bar.failed) for bar in found.bars if bar.delivered or bar.failed}


def test_each_day_of_the_readers_zone_has_its_numbers(browser: Client, ada: User) -> None:
    inbox, hook = make_channel(ada), make_channel(ada, "webhook", removed_at="2026-06-20T12:00Z")
    sent(inbox, "2026-05-31T21:59Z")
    sent(inbox, "2026-05-31T22:00Z")
    sent(hook, "2026-06-01T10:00Z", state="dead", cause="x")
    sent(hook, "2026-06-03T10:00Z", state="unknown", cause="x")
    sent(inbox, "2026-06-03T10:00Z", state="expired")
    sent(inbox, "2026-06-03T10:00Z", origin="test")
    sent(make_channel(make_user()), "2026-06-03T10:00Z")
    asked = {"since": "2026-06-01", "until": "2026-06-04"}
    found = chart(browser, **asked)
    assert counts(found) == {"2026-06-01": (1, 1), "2026-06-03": (0, 1)}
    assert found is not None and len(found.bars) == 4
    assert counts(chart(browser, **asked, channel=hook.id)) == {"2026-06-01": (0, 1), "2026-06-03": (0, 1)}


def test_without_days_it_shows_the_last_thirty(browser: Client, ada: User) -> None:
    assert chart(browser) is None
    sent(make_channel(ada), timezone.now().isoformat())
    found = chart(browser)
    assert found is not None and len(found.bars) == 30
    assert [bar.delivered for bar in found.bars[-2:]] == [0, 1]


@pytest.mark.parametrize(
    ("since", "until", "bars", "days"),
    [
        ("2026-03-29", "2026-03-29", 23, 1),  # in Berlin, the clocks go forward
        ("2026-01-01", "2026-03-31", 90, 1),
        ("2026-01-01", "2026-04-01", 13, 7),
        ("1970-01-02", "2026-06-01", 90, 33 * 7),
    ],
)
def test_there_are_at_most_ninety_bars(
    browser: Client, ada: User, since: str, until: str, bars: int, days: int
) -> None:
    sent(make_channel(ada), "2026-03-29T10:00Z")
    found = chart(browser, since=since, until=until)
    assert found is not None
    assert len(found.bars) == bars <= charts.MOST_BARS
    assert (found.bars[0].last - found.bars[0].first).days + 1 == days
    assert found.bars[0].first.isoformat() == since and found.bars[-1].last.isoformat() == until
    assert found.delivered == 1


def test_bars_share_the_height_and_small_ones_can_be_seen(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for _ in range(3):
        sent(inbox)
    sent(inbox, state="dead", cause="x")
    found = chart(browser, since="2026-06-01", until="2026-06-02")
    assert found is not None and found.most == 4
    full, empty = found.bars
    assert (full.delivered_height, full.failed_height) == (750, 250)
    assert (empty.delivered_height, empty.failed_height) == (0, 0)


def test_it_is_on_the_first_page_of_notifications_only(browser: Client, ada: User) -> None:
    key = sent(make_channel(ada), timezone.now().isoformat()).notification_id
    assert chart(browser) is not None
    assert chart(browser, show="tests") is None
    assert chart(browser, after="00000000-0000-0000-0000-000000000000") is None
    assert chart(browser, before=key) is None
    assert chart(browser, since="odd") is None
    assert chart(browser, since=(timezone.localdate() + timedelta(days=3)).isoformat()) is None


def test_it_takes_one_statement_and_counts_up_to_a_limit(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    inbox = make_channel(ada)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(MANY, {"user": ada.pk, "channel": inbox.id})
    found = chart(browser)
    assert found is not None and (found.delivered, found.is_cut) == (charts.MOST_COUNTED // 30, True)
    monkeypatch.setattr(charts, "MOST_COUNTED", 300_000)
    found = chart(browser)
    assert found is not None and (found.delivered, found.is_cut) == (5_000, False)
    monkeypatch.setattr(charts, "MOST_COUNTED", 30_000)
    with django_assert_num_queries(1):
        days = [timezone.now() - timedelta(days=day) for day in range(30, -1, -1)]
        cut = charts._counts(ada.pk, [inbox.id], days, of_all=True)
    assert cut[-1] == (1_000, 0, True)
