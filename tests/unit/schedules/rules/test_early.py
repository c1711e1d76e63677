"""When a reminder rings early: elapsed minutes, and whole days on the wall clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from schedules.models import Schedule
from schedules.rules import early
from schedules.rules.early import DAY, EarlyTime

BERLIN = ZoneInfo("Europe/Berlin")


def berlin(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC)  # type: ignore[arg-type, misc]


def at(slot: datetime, *minutes: int) -> list[datetime]:
    return [one.at for one in early.times(slot, minutes, BERLIN)]


def test_they_come_in_the_order_of_their_times() -> None:
    slot = berlin(2026, 12, 1, 9)
    assert early.times(slot, [10, DAY], BERLIN) == [
        EarlyTime(berlin(2026, 11, 30, 9), DAY),
        EarlyTime(berlin(2026, 12, 1, 8, 50), 10),
    ]


@pytest.mark.parametrize("slot", [berlin(2026, 3, 29, 9), berlin(2026, 10, 25, 9)], ids=["spring", "autumn"])
def test_a_day_before_has_the_same_hour_when_the_clock_changes_in_between(slot: datetime) -> None:
    [a_day, hours] = sorted(at(slot, DAY, 23 * 60))
    assert {a_day, hours} == {slot.astimezone(BERLIN) - timedelta(days=1), slot - timedelta(hours=23)}


def test_an_hour_that_the_day_before_skips_is_right_after_the_gap() -> None:
    assert at(berlin(2026, 3, 30, 2, 30), DAY) == [berlin(2026, 3, 29, 3)]


def test_an_hour_that_the_day_before_has_twice_is_the_first() -> None:
    assert at(berlin(2026, 10, 26, 2, 30), DAY) == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]


def test_the_next_one_is_after_a_time() -> None:
    slot = berlin(2026, 12, 1, 9)
    following = [slot - timedelta(days=3), slot - timedelta(days=1), slot - timedelta(minutes=10)]
    found = [early.next_at(slot, [DAY, 10], "Europe/Berlin", since) for since in following]
    assert found == [slot - timedelta(days=1), slot - timedelta(minutes=10), None]
    assert early.next_at(None, [DAY], "Europe/Berlin", slot) is None
    assert early.next_at(slot, [], "Europe/Berlin", slot - timedelta(days=3)) is None


def test_a_damaged_zone_is_read_as_utc() -> None:
    slot = datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert early.next_at(slot, [DAY], "Mars/Olympus", slot - timedelta(days=2)) == slot - timedelta(days=1)


def test_what_is_due_and_not_sent_yet_stays_after_an_edit() -> None:
    slot = datetime(2026, 12, 1, 9, tzinfo=UTC)
    due = slot - timedelta(minutes=30)
    schedule = Schedule(next_fire_at=slot, early=[30, 10], next_early_at=due, time_zone="UTC")
    schedule.set_next_early(due + timedelta(seconds=3))
    assert schedule.next_early_at == due
    schedule.snoozed_until = due + timedelta(minutes=5)
    schedule.set_next_early(due + timedelta(seconds=3))
    assert schedule.next_early_at == slot - timedelta(minutes=10)


@pytest.mark.parametrize(
    ("language", "minutes", "words"),
    [
        ("en", DAY, "1 day"),
        ("en", 90, "1 hour 30 minutes"),
        ("de", 2 * DAY + 10, "2 Tage 10 Minuten"),
        ("es", 1, "1 minuto"),
    ],
)
def test_they_are_said_in_words(language: str, minutes: int, words: str) -> None:
    with translation.override(language):
        assert early.length(minutes) == words


def test_the_rule_says_them_from_the_farthest_to_the_nearest() -> None:
    assert early.describe("Every day", [10, DAY]) == "Every day, also 1 day and 10 minutes before"
    assert (early.describe("", [10]), early.describe("Every day", [])) == ("Also 10 minutes before", "Every day")
