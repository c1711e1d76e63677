"""The history by day, channel and state; codes and tests apart; and what it reads of a long one."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from common.database import paging
from common.uuid7 import first_of
from notifications.deliveries import history
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.make import make_channel, make_delivery, make_user

pytestmark = pytest.mark.django_db


def sent(channel: Channel, at: str = "2026-06-01T12:00Z", **overrides: Any) -> Delivery:
    """A delivery whose notification was recorded at `at`, with an id of that time."""
    ended = {"settled_at": at} if overrides.get("state", "delivered") not in ("pending", "sending") else {}
    delivery = make_delivery(channel, **{"state": "delivered", **ended, **overrides})
    then = datetime.fromisoformat(at)
    key = f"{first_of(then).int + delivery.notification_id.int % 2**64:032x}"
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE notifications_notification SET id = %s, created_at = %s WHERE id = %s",
            [key, then, delivery.notification_id],
        )
        cursor.execute("UPDATE notifications_delivery SET notification_id = %s WHERE id = %s", [key, delivery.id])
        cursor.execute("SET session_replication_role = DEFAULT")
    delivery.refresh_from_db()
    return delivery


def subjects(browser: Client, **asked: Any) -> list[str]:
    return [said.subject for said in browser.get(f"/history/?{urlencode(asked)}").context["page"].rows]


def test_days_are_those_of_the_readers_zone_and_both_are_included(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    # In Berlin, in summer: two hours before midnight in UTC is midnight.
    sent(inbox, "2026-05-31T21:59Z", subject="before")
    sent(inbox, "2026-05-31T22:00Z", subject="first")
    sent(inbox, "2026-06-02T21:59Z", subject="last")
    sent(inbox, "2026-06-02T22:00Z", subject="after")
    assert subjects(browser, since="2026-06-01", until="2026-06-02") == ["last", "first"]
    assert subjects(browser, since="2026-06-02") == ["after", "last"]
    assert subjects(browser, until="2026-05-31") == ["before"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"since": "2026-02-30"}, "since"),
        ({"until": "soon"}, "until"),
        ({"since": "2026-06-02", "until": "2026-06-01"}, "until"),
        ({"since": "0001-01-01"}, "since"),
        ({"until": "9999-12-31"}, "until"),
    ],
)
def test_a_day_that_is_none_gets_an_error_at_its_field(
    browser: Client, ada: User, asked: dict[str, str], field: str
) -> None:
    sent(make_channel(ada))
    answer = browser.get(f"/history/?{urlencode(asked)}")
    assert list(answer.context["form"].errors) == [field]
    page = answer.content.decode()
    assert f'id="id_{field}_error"' in page and 'aria-invalid="true"' in page
    assert answer.context["page"] is None


def test_a_channel_narrows_it_also_a_removed_one_but_never_somebody_elses(browser: Client, ada: User) -> None:
    inbox, old = make_channel(ada), make_channel(ada, label="Old phone", removed_at="2026-06-01T12:00Z")
    others = sent(make_channel(make_user()), subject="not yours").channel
    sent(inbox, subject="inbox")
    sent(old, subject="old")
    assert subjects(browser, channel=old.id) == ["old"]
    assert subjects(browser, channel=inbox.id) == ["inbox"]
    assert sorted(subjects(browser, channel=others.id)) == ["inbox", "old"]
    page = browser.get("/history/").content.decode()
    assert "Old phone (removed)" in page and str(others.id) not in page


def test_a_span_is_between_its_ends_and_has_neither(ada: User) -> None:
    channel = make_channel(ada)
    ids = sorted(make_delivery(channel).notification_id for _ in range(4))
    for ascending, between in ((True, ids[1:3]), (False, ids[2:0:-1])):
        span = paging.Span(9, ids[0], ids[3], ascending)
        assert history.candidates([channel.id], ["pending"], history.Period(), span, []) == between


def test_codes_and_tests_stand_apart(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for origin in ("schedule", "test", "code", "notice"):
        sent(inbox, subject=origin, origin=origin)
    assert sorted(subjects(browser)) == ["notice", "schedule"]
    assert sorted(subjects(browser, show="tests")) == ["code", "test"]
    assert sorted(subjects(browser, state="delivered")) == ["notice", "schedule"]
    assert sorted(subjects(browser, show="tests", state="delivered", channel=inbox.id)) == ["code", "test"]
    assert subjects(browser, show="tests", state="failed") == []


def test_failures_of_status_webhooks_show_among_the_failed_only(browser: Client, ada: User) -> None:
    status = make_channel(ada, "status")
    sent(status, subject="told", origin="status")
    sent(status, subject="refused", origin="status", state="dead", cause="x")
    assert subjects(browser) == []
    assert subjects(browser, state="delivered") == []
    assert subjects(browser, state="failed") == ["refused"]


STATES = {
    "": Delivery.State.values,
    "delivered": ["delivered"],
    "open": ["pending"],
    "failed": ["dead", "unknown"],
    "dropped": ["cancelled", "expired"],
}
DAYS: list[dict[str, str]] = [{}, {"since": "2026-06-02", "until": "2026-06-16"}]


def test_each_combination_shows_page_by_page_what_a_scan_finds(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WINDOW", 20)
    channels = [make_channel(ada), make_channel(ada, "webhook")]
    each = ["delivered", "dead", "pending", "cancelled", "delivered", "expired", "unknown"]
    for number in range(60):
        state, at = each[number % 7], datetime(2026, 6, 1, 12, tzinfo=UTC) + timedelta(hours=9 * number)
        cause = {"cause": "x"} if state in ("dead", "unknown") else {}
        sent(channels[number % 2], at.isoformat(), subject=f"{number}", state=state, **cause)
    rows = [
        (said, said.deliveries.get()) for said in Notification.objects.order_by("-id").prefetch_related("deliveries")
    ]
    for state, channel, search, days in itertools.product(STATES, ["", channels[1].id], ["", "1"], DAYS):
        expected = [
            said.subject
            for said, delivery in rows
            if delivery.state in STATES[state]
            and channel in ("", delivery.channel_id)
            and search in said.subject
            and (not days or "2026-06-01T22" <= said.created_at.isoformat() < "2026-06-16T22")
        ]
        asked = {"state": state, "channel": str(channel), "q": search, **days}
        forth = follow(browser, f"?{urlencode(asked)}", "older")
        assert [subject for page in forth for subject in page] == expected, asked
        if expected and not days:
            last = browser.get(f"/history/?{urlencode(asked)}&after={UUID(int=0)}").context["page"]
            back = [[said.subject for said in last.rows], *follow(browser, last.newer, "newer")]
            assert [subject for page in reversed(back) for subject in page] == expected, asked


def follow(browser: Client, link: str, to: str) -> list[list[str]]:
    pages = []
    while link:
        page = browser.get(f"/history/{link}").context["page"]
        pages.append([said.subject for said in page.rows])
        assert len(pages) < 30
        link = getattr(page, to)
    return pages


def test_the_links_keep_the_filters(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for _ in range(26):
        sent(inbox, subject="Rent")
    asked = {"q": "Rent", "state": "delivered", "channel": str(inbox.id), "since": "2026-05-01"}
    answer = browser.get(f"/history/?{urlencode(asked)}")
    for part in (urlencode({name: value}) for name, value in asked.items()):
        assert part in answer.context["page"].older
    assert f"q=Rent&amp;state=delivered&amp;channel={inbox.id}" in answer.content.decode()  # of a preset


MANY = """
INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome)
SELECT uuidv7(), gen_random_uuid(), %(user)s, 'api', 'Ferns', '', 'full' FROM generate_series(1, 5000);
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays, settled_at)
SELECT uuidv7(), id, %(channel)s, 'inbox', 'delivered', 0, 1, 0, now()
  FROM notifications_notification WHERE subject = 'Ferns';
ANALYZE notifications_notification, notifications_delivery;
"""


@pytest.mark.parametrize(
    ("asked", "most"),
    [({"state": "failed"}, 50), ({"state": "open"}, 50), ({"channel": "{old}"}, 50), ({"show": "tests"}, 50)],
)
def test_what_is_rare_is_found_without_reading_the_rest(
    browser: Client, ada: User, asked: dict[str, str], most: int
) -> None:
    inbox, old = make_channel(ada), make_channel(ada, label="Old phone", removed_at="2026-06-01T12:00Z")
    sent(old, state="dead", cause="x")
    sent(old, state="pending")
    sent(inbox, origin="test")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(MANY, {"user": ada.pk, "channel": inbox.id})
        cursor.execute("SET LOCAL enable_seqscan = off")
    query = urlencode({name: value.format(old=old.id) for name, value in asked.items()})
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(f"/history/?{query}").context["page"].rows
    read = [one["sql"] for one in captured if 'notifications_notification"' in one["sql"] or "unnest" in one["sql"]]
    for statement in read:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.replace('%', '%%')}", [])
            [[[plan]]] = cursor.fetchall()
        if "count(*)" not in statement:  # the chart's, which counts
            assert rows_read(plan["Plan"]) <= most, statement


def rows_read(plan: dict[str, Any]) -> float:
    """The most rows that a scan of the tables returned or threw away."""
    here = 0.0
    if "Scan" in plan["Node Type"]:
        removed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
        here = (plan["Actual Rows"] + removed) * plan["Actual Loops"]
    return max([here, *(rows_read(part) for part in plan.get("Plans", []))])
