"""What a streak is: consecutive days with a contribution, up to today, in the person's own zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs.kinds.base import Ask, Nothing, Say
from jobs.kinds.github_streak import GitHubStreak, StreakCode, StreakForm, streak

KIND = GitHubStreak()
TODAY = date(2026, 11, 22)


def before(today: date, *counts: int) -> dict[date, int]:
    """A calendar by its last days: that of `today` last."""
    return {today - timedelta(days=back): count for back, count in enumerate(reversed(counts))}


NEW_YEAR, LEAP = date(2027, 1, 1), date(2028, 3, 1)
CALENDARS = {
    "one today": (before(TODAY, 0, 1), TODAY, 1),
    "today and the days before": (before(TODAY, 0, 2, 1, 5), TODAY, 3),
    "empty today is forgiven": (before(TODAY, 0, 2, 1, 0), TODAY, 2),
    "gap yesterday": (before(TODAY, 4, 4, 0, 1), TODAY, 1),
    "gap yesterday and empty today": (before(TODAY, 4, 4, 0, 0), TODAY, 0),
    "all empty": (before(TODAY, 0, 0, 0, 0), TODAY, 0),
    "nothing known": ({}, TODAY, 0),
    "today is not in the calendar yet": (before(TODAY - timedelta(days=1), 0, 1, 1), TODAY, 2),
    "yesterday is not in the calendar": (before(TODAY - timedelta(days=2), 1, 1), TODAY, 0),
    "change of the year": (before(NEW_YEAR, 0, 1, 1, 1), NEW_YEAR, 3),
    "leap day": (before(LEAP, 0, 1, 1, 1), LEAP, 3),
    "gap on the leap day": (before(LEAP, 1, 0, 1), LEAP, 1),
    "later days do not count": (before(TODAY, 1, 1) | {TODAY + timedelta(days=1): 9}, TODAY, 2),
    "later days do not fill today": (before(TODAY, 1, 0) | {TODAY + timedelta(days=1): 9}, TODAY, 1),
    "a year and more": (before(TODAY, *[1] * 800), TODAY, 800),
}


@pytest.mark.parametrize(("days", "today", "length"), CALENDARS.values(), ids=CALENDARS)
def test_the_streak_of_a_calendar(days: dict[date, int], today: date, length: int) -> None:
    assert streak(days, today) == length


def decide(days: dict[date, int], zone: str, slot: str, now: str = "", **payload: Any) -> Any:
    """What the kind decides of a calendar; `slot` and `now` are on the clock of `zone`."""
    where = ZoneInfo(zone)
    due, checks = (datetime.fromisoformat(one).replace(tzinfo=where).astimezone(UTC) for one in (slot, now or slot))
    ask = Ask(user_id=1, origin_id=None, zone=where, slot=due, now=checks, payload=payload)
    return KIND.decide(ask, {"login": "ada", "days": {day.isoformat(): count for day, count in days.items()}})


ZONES = {
    "Pacific/Auckland": date(2026, 9, 27),  # the clock goes forward at 02:00
    "Asia/Kathmandu": date(2026, 9, 27),
    "America/Los_Angeles": date(2026, 11, 1),  # back at 02:00
    "Australia/Lord_Howe": date(2026, 10, 4),  # half an hour forward at 02:00
    "UTC": date(2026, 11, 1),
}
LENGTHS = {"Pacific/Auckland": 23, "America/Los_Angeles": 25, "Australia/Lord_Howe": 24}  # hours, rounded up


@pytest.mark.parametrize(("zone", "day"), ZONES.items(), ids=ZONES)
@pytest.mark.parametrize("around", [-1, 0, 1])
def test_a_minute_before_and_after_midnight_each_check_their_own_day(zone: str, day: date, around: int) -> None:
    """`day` has the clock change: the checks are before, in and after it."""
    day += timedelta(days=around)
    late, early = f"{day} 23:59", f"{day} 00:01"
    done_before = before(day, 1, 1, 1, 0)
    for instant, hours in ((early, LENGTHS.get(zone, 24) if around == 0 else 24), (late, 1)):
        said = decide(done_before, zone, instant)
        assert isinstance(said, Say)
        assert (said.words["streak"], said.words["today"], said.words["hours_left"]) == ("3", "0", str(hours))
        assert said.words["day"] == f"{day:%A} {day.day} {day:%B}"
    assert isinstance(decide(before(day, 1, 1), zone, late), Nothing)
    next_day = f"{day + timedelta(days=1)} 00:01"
    assert decide(before(day, 1, 1), zone, next_day).words["streak"] == "2"


def test_the_day_is_named_where_it_is_another_one_in_utc() -> None:
    noon, evening = "2026-11-22 12:00", "2026-11-22 20:00"
    days = before(TODAY, 0, 1, 3)
    assert decide(days, "America/Los_Angeles", noon).reason.code == StreakCode.CHECKED
    assert str(decide(days, "Europe/Berlin", noon).reason) == "checked GitHub: 3 contributions today, streak 2"
    named = decide(days, "America/Los_Angeles", evening).reason
    assert str(named) == "checked GitHub: 3 contributions on Sunday 22 November, streak 2"
    assert str(decide(before(TODAY, 1), "UTC", noon).reason) == "checked GitHub: 1 contribution today, streak 1"


def test_a_check_just_after_midnight_is_of_the_day_of_its_slot() -> None:
    slot, late = "2026-11-22 23:59", "2026-11-23 00:00:05"
    done = decide(before(TODAY, 1, 1), "Asia/Kathmandu", slot, late)
    assert (type(done), done.reason.params["streak"]) == (Nothing, 2)
    missed = decide(before(TODAY, 1, 0), "Asia/Kathmandu", slot, late)
    assert (type(missed), missed.reason.code) == (Nothing, StreakCode.OVER)


def test_always_praises_with_its_own_text() -> None:
    noon = "2026-11-22 12:00"
    said = decide(before(TODAY, 1, 1), "UTC", noon, when="always", done_title="Well done", done_body="{streak}")
    assert (said.title, said.body, said.words["streak"]) == ("Well done", "{streak}", "2")
    assert (said.words["today"], said.words["contributions"]) == ("1", "1 contribution")
    warned = decide(before(TODAY, 1, 0), "UTC", noon, when="always", done_title="Well done", done_body="{streak}")
    assert (warned.title, warned.body, warned.words["hours_left"]) == (None, None, "12")
    assert warned.words["time_left"] == "12 hours are left"
    last = decide(before(TODAY, 1, 0), "UTC", "2026-11-22 23:30")
    assert last.words["time_left"] == "1 hour is left"


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({}, []),
        ({"login": "octo-cat", "when": "always", "done_body": "{streak} {name}"}, []),
        ({"login": "octo cat"}, ["login"]),
        ({"login": "-octo"}, ["login"]),
        ({"when": "sometimes"}, ["when"]),
        ({"done_title": "{steak}"}, ["done_title"]),
    ],
)
def test_the_form_takes_what_can_be_checked(typed: dict[str, str], wrong: list[str]) -> None:
    form = StreakForm(typed)
    assert list(form.errors) == wrong
    if not wrong:
        payload = KIND.payload(form.cleaned_data)
        assert StreakForm(KIND.form_initial(payload)).is_valid()
        assert payload["when"] in ("empty", "always") and payload["done_body"]
