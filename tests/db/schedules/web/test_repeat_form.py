"""Every so many days, weeks, months or years, yearly, and the nth or last weekday, typed into the form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from people.models import User
from schedules.models import Schedule
from tests.db.api.conftest import clock_at
from tests.db.schedules.web.typed import typed
from tests.make import NOON, make_channel, make_schedule

# Typed at noon on Monday 1 June 2026.
TYPED: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "daily", "step": "2"}, "20260602T090000", "FREQ=DAILY;INTERVAL=2"),
    ({"kind": "weekly", "step": "2", "days": ["0", "3"]}, "20260604T090000", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH"),
    (
        {"kind": "weekly", "step": "2", "days": ["0"], "anchor": "2026-06-10T00:00"},
        "20260615T090000",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
    ),
    ({"kind": "monthly", "nth": "-1", "weekday": "4"}, "20260626T090000", "FREQ=MONTHLY;BYDAY=-1FR"),
    (
        {"kind": "monthly", "step": "3", "day": "31", "short": "skip"},
        "20260731T090000",
        "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=31",
    ),
    ({"kind": "monthly", "step": "2", "day": "last"}, "20260630T090000", "FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=-1"),
    ({"kind": "yearly", "month": "3", "day": "7"}, "20270307T090000", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=7"),
    (
        {"kind": "yearly", "month": "5", "nth": "2", "weekday": "6"},
        "20270509T090000",
        "FREQ=YEARLY;BYMONTH=5;BYDAY=2SU",
    ),
]


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with clock_at(NOON):
        yield


@pytest.mark.parametrize(("fields", "start", "rule"), TYPED, ids=[rule for _, _, rule in TYPED])
def test_it_becomes_a_calendar_rule_and_is_shown_and_saved_as_it_was_typed(
    browser: Client, ada: User, fields: dict[str, Any], start: str, rule: str
) -> None:
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **fields))
    assert answer.status_code == 302, answer.context["form"].errors
    made = Schedule.objects.get()
    assert (made.kind, made.rule) == ("rrule", {"rule": f"DTSTART:{start}\nRRULE:{rule}"})
    form = browser.get(f"/reminders/{made.id}/edit/").context["form"]
    shown = {field.html_name: field.value() for field in form if field.value() is not None}
    given = {name: value for name, value in fields.items() if name != "anchor"}
    assert {name: [str(one) for one in shown[name]] if name == "days" else str(shown[name]) for name in given} == given
    browser.post(f"/reminders/{made.id}/edit/", shown)
    again = Schedule.objects.get()
    assert (again.version, again.rule, again.next_fire_at) == (1, made.rule, made.next_fire_at)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("step", {"kind": "daily", "step": "0"}),
        ("step", {"kind": "weekly", "days": ["0"], "step": "1001"}),
        ("step", {"kind": "monthly", "step": "two", "day": "1"}),
        ("days", {"kind": "weekly", "step": "2"}),
        ("nth", {"kind": "monthly", "nth": "5"}),
        ("weekday", {"kind": "monthly", "nth": "1", "weekday": "8"}),
        ("month", {"kind": "yearly", "month": "13", "day": "1"}),
        ("day", {"kind": "yearly", "month": "2", "day": "30"}),
        ("day", {"kind": "yearly", "month": "2", "day": "0"}),
        ("short", {"kind": "yearly", "month": "2", "day": "29", "short": "perhaps"}),
        ("time", {"kind": "yearly", "time": "25:00", "day": "1"}),
        ("rule", {"kind": "rrule", "rule": "@reboot"}),
    ],
)
def test_what_is_wrong_is_said_at_its_field(browser: Client, ada: User, name: str, fields: dict[str, Any]) -> None:
    answer = browser.post("/reminders/new/", typed(make_channel(ada), **fields))
    assert list(answer.context["form"].errors) == [name]
    assert not Schedule.objects.exists()


def test_an_emptied_start_counts_from_now_again(browser: Client, ada: User) -> None:
    rule = "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO"
    schedule = make_schedule(ada, kind="rrule", rule={"rule": rule})
    fields = typed(*schedule.channels.all(), kind="weekly", step="2", days=["0"], version="1", anchor="")
    browser.post(f"/reminders/{schedule.id}/edit/", fields)
    assert Schedule.objects.get().rule["rule"].startswith("DTSTART:20260608")


@pytest.mark.parametrize(
    "rule",
    [
        "DTSTART:20300101T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR",  # begins later than typed fields would
        "DTSTART:20260107T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",  # DTSTART is no Monday
        "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO",
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=3000",
    ],
)
def test_a_rule_that_the_fields_would_change_is_shown_as_it_was_written(browser: Client, ada: User, rule: str) -> None:
    schedule = make_schedule(ada, kind="rrule", rule={"rule": rule})
    form = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    assert (form["kind"].value(), form["rule"].value()) == ("rrule", rule)


@pytest.mark.parametrize("name", ["DAILY", "@daily"])
def test_an_advanced_rule_needs_no_start(browser: Client, ada: User, name: str) -> None:
    rule = name if name.startswith("@") else f"FREQ={name}"
    browser.post("/reminders/new/", typed(make_channel(ada), kind="rrule", rule=rule))
    made = Schedule.objects.get()
    assert made.next_fire_at is not None
    assert made.kind == ("cron" if name.startswith("@") else "rrule")
