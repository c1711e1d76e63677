"""The list of reminders: tags, orders, the archive, and what is done to many at once."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from people.models import User
from schedules.firing import fire
from schedules.models import Schedule
from schedules.web.reminders import groups
from tests.db.schedules.web.test_reminders import titles
from tests.make import NOON, make_channel, make_schedule, make_user


def make_two(user: User) -> list[Schedule]:
    inbox = make_channel(user)
    return [make_schedule(user, [inbox], title=title) for title in ("Plants", "Rent")]


def do(browser: Client, action: str, chosen: list[Schedule], query: str = "", **more: Any) -> HttpResponse:
    typed = {"do": action, "chosen": [str(one.id) for one in chosen]} | more
    return browser.post(f"/reminders/bulk/{query}", typed, follow=True)


def said(answer: HttpResponse) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def undo(browser: Client, answer: HttpResponse) -> str:
    offered = answer.context["undo"]
    typed = {"did": offered.action, "at": offered.at.isoformat(), "tag_done": offered.tag}
    return said(browser.post("/reminders/bulk/undo/", typed, follow=True))


def states() -> list[str]:
    return list(Schedule.objects.order_by("title").values_list("state", flat=True))


def test_the_tags_of_the_form_are_kept_and_narrow_the_list(browser: Client, ada: User) -> None:
    schedule, _ = make_two(ada)
    page = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    typed = {name: page[name].value() for name in ("title", "version", "kind", "time", "time_zone", "misfire", "grace")}
    typed |= {"tags": " Home,  house  plants ,home", "channels": [str(schedule.channels.get().id)], "spread": 0}
    browser.post(f"/reminders/{schedule.id}/edit/", {name: value for name, value in typed.items() if value is not None})
    schedule.refresh_from_db()
    assert schedule.tags == ["Home", "house plants"]
    assert titles(browser, "?tag=HOUSE+plants") == ["Plants"]
    assert titles(browser, "?tag=other") == []
    assert "?tag=house%20plants" in browser.get(f"/reminders/{schedule.id}/").content.decode()


@pytest.mark.parametrize("tags", [",".join(map(str, range(11))), "x" * 31, "a\u0007b", "x" * 2_000])
def test_tags_that_are_too_many_too_long_or_unprintable_are_refused(browser: Client, ada: User, tags: str) -> None:
    typed = {"title": "Rent", "kind": "daily", "time": "09:00", "time_zone": "UTC", "tags": tags}
    assert "tags" in browser.post("/reminders/new/", typed).context["form"].errors


@pytest.mark.parametrize(
    ("sort", "order"),
    [("", ["b", "a", "C"]), ("name", ["a", "b", "C"]), ("newest", ["C", "b", "a"]), ("changed", ["a", "C", "b"])],
)
def test_the_list_is_sorted_as_asked(browser: Client, ada: User, sort: str, order: list[str]) -> None:
    for title, time in (("a", "14:00"), ("b", "13:00"), ("C", "15:00")):
        schedule = make_schedule(ada, [], title=title, rule={"time": time})
        changed = {"a": 3, "b": 1, "C": 2}[title]
        Schedule.objects.filter(id=schedule.id).update(updated_at=NOON + timedelta(minutes=changed))
    assert titles(browser, f"?sort={sort}") == order


def test_what_is_archived_is_only_shown_where_it_is_asked_for(browser: Client, ada: User) -> None:
    plants, _ = make_two(ada)
    answer = browser.post(f"/reminders/{plants.id}/archive/", follow=True)
    assert answer.context["undo_text"] == "1 reminder is archived."
    assert titles(browser) == ["Rent"]
    assert titles(browser, "?state=archived&q=plants") == ["Plants"]
    browser.post(f"/reminders/{plants.id}/unarchive/")
    assert sorted(titles(browser)) == ["Plants", "Rent"]


def test_one_button_archives_all_that_are_finished(browser: Client, ada: User) -> None:
    make_schedule(ada, [], title="Plants")
    assert "finished reminder" not in browser.get("/reminders/").content.decode()
    make_schedule(ada, [], title="Rent", kind="once", rule={"at": "2026-06-01T13:00"})
    fire.fire_due(NOON + timedelta(hours=1))
    assert "Archive 1 finished reminder<" in browser.get("/reminders/").content.decode()
    answer = do(browser, "archive", [], "?state=finished", all="on")
    assert states() == ["active", "archived"]
    undo(browser, answer)
    assert states() == ["active", "finished"]


def test_the_chosen_ones_are_paused_and_undo_resumes_them(browser: Client, ada: User) -> None:
    plants, rent = make_two(ada)
    answer = do(browser, "pause", [plants])
    assert states() == ["paused", "active"]
    assert answer.context["undo_text"] == "1 reminder is paused."
    answer = do(browser, "pause", [plants, rent])
    assert said(answer) == "1 was left out, because it is paused."
    assert undo(browser, answer) == "Undone for 1 reminder."
    assert states() == ["paused", "active"]
    assert undo(browser, answer) == "Nothing was undone: these reminders have changed since."


def test_all_that_match_are_those_of_the_filter_on_every_page(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for number in range(30):
        make_schedule(ada, [inbox], title=f"Plant {number}")
    make_schedule(ada, [inbox], title="Rent")
    answer = do(browser, "tag", [], "?q=plant", all="on", tag="garden")
    assert Schedule.objects.filter(tags=["garden"]).count() == 30
    assert answer.request["QUERY_STRING"].startswith("q=plant")
    assert undo(browser, answer) == "Undone for 30 reminders."
    assert not Schedule.objects.exclude(tags=[]).exists()


def test_undoing_a_deletion_respects_the_limit(browser: Client, ada: User, settings: Settings) -> None:
    answer = do(browser, "delete", make_two(ada))
    assert titles(browser) == []
    settings.MOST_SCHEDULES = 1
    assert "as many as one person may have" in undo(browser, answer)
    settings.MOST_SCHEDULES = 2
    undo(browser, answer)
    assert len(titles(browser)) == 2


@pytest.mark.parametrize(
    "typed",
    [
        {},
        {"do": "odd", "chosen": ["x"]},
        {"do": "pause"},
        {"do": "pause", "chosen": ["x", ""]},
        {"do": "tag", "all": "on"},
        {"do": "tag", "all": "on", "tag": "a, b"},
        {"do": "untag", "all": "on", "tag": "\0"},
    ],
)
def test_nonsense_changes_nothing_and_is_answered(browser: Client, ada: User, typed: dict[str, Any]) -> None:
    make_two(ada)
    assert "Nothing was done" in said(browser.post("/reminders/bulk/", typed, follow=True))
    assert not Schedule.objects.exclude(version=1).exists()


@pytest.mark.parametrize(
    "query",
    [
        "?did=pause",
        "?did=odd&at=2026-06-01",
        "?did=pause&at=0001-01-01T00:00:00%2B00:00",
        "?did=pause&at=2026-06-01T09:00:00%2B01:00:30.5",
    ],
)
def test_an_unreadable_undo_is_not_offered(browser: Client, ada: User, query: str) -> None:
    make_two(ada)
    assert "undo" not in browser.get(f"/reminders/{query}").context
    assert browser.post("/reminders/bulk/undo/", {}).status_code == 302


def test_nobody_reaches_anothers_reminders(browser: Client, ada: User) -> None:
    hers = make_schedule(make_user())
    do(browser, "delete", [hers])
    hers.refresh_from_db()
    assert (hers.version, hers.deleted_at) == (1, None)


@pytest.mark.parametrize(
    ("next_fire_at", "heading"),
    [
        ("2026-06-03T21:30+00:00", "Today"),
        ("2026-06-03T22:30+00:00", "Tomorrow"),
        ("2026-06-07T21:30+00:00", "This week"),
        ("2026-06-07T22:30+00:00", "Later"),
        ("2026-06-01T09:00+00:00", "Today"),  # it is late
        (None, "Without a next time"),
    ],
)
def test_reminders_stand_under_the_day_or_span_of_their_next_time(next_fire_at: str | None, heading: str) -> None:
    """Wednesday 3 June 2026 in Berlin."""
    slot = next_fire_at and datetime.fromisoformat(next_fire_at)
    row = {"reminder": Schedule(next_fire_at=slot)}
    with timezone.override("Europe/Berlin"):
        assert groups([row], date(2026, 6, 3)) == [(heading, [row])]


def test_another_order_has_no_headings(browser: Client, ada: User) -> None:
    make_two(ada)
    [(heading, rows)] = browser.get("/reminders/?sort=name").context["groups"]
    assert heading == "" and len(rows) == 2


@pytest.mark.parametrize(
    ("kind", "rule", "zone", "said"),
    [
        ("daily", {"time": "09:00"}, "Europe/Berlin", "Every day at 09:00"),
        ("daily", {"time": "09:00"}, "America/New_York", "Every day at 09:00, New York time"),
        ("daily", {"time": "09:00"}, "Etc/GMT-8", "Every day at 09:00, UTC+8"),
        ("weekly", {"time": "09:00", "days": [0]}, "Europe/Berlin", "Every Monday at 09:00"),
        ("monthly", {"time": "09:00", "day": 1}, "Europe/Berlin", "On the 1st of every month at 09:00"),
        ("cron", {"expression": "0 9 * * mon"}, "Europe/Berlin", "At 09:00 on Monday"),
        (
            "rrule",
            {"rule": "DTSTART:20260601T090000\nRRULE:FREQ=DAILY;INTERVAL=2"},
            "Europe/Berlin",
            "Every 2 days at 09:00",
        ),
        (
            "interval",
            {"every": 2, "unit": "hours", "anchor": "2026-06-01T09:00:00+00:00"},
            "Europe/Berlin",
            "Every 2 hours",
        ),
        ("once", {"at": "2090-06-01T13:00"}, "Europe/Berlin", ""),
        ("once", {"at": "2090-06-01T13:00"}, "UTC", "Once, on Thursday 1 June 2090 at 13:00, UTC"),
    ],
)
def test_a_row_says_of_the_rule_what_the_next_time_does_not(
    ada: User, kind: str, rule: dict[str, Any], zone: str, said: str
) -> None:
    assert make_schedule(ada, [], kind=kind, rule=rule, time_zone=zone).brief("Europe/Berlin") == said
