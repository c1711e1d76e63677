"""The times to snooze until."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from common.times import snooze

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("choice", "picked", "ends"),
    [
        ("10-minutes", "", "2026-03-28T22:40"),
        ("1-hour", "", "2026-03-28T23:30"),
        ("tomorrow", "", "2026-03-29T06:00"),  # 08:00 in Berlin, where the clock has gone forward in the night
        ("next-week", "", "2026-03-30T06:00"),
        ("pick", "2026-03-29T02:30", "2026-03-29T01:00"),  # skipped: right after the gap
    ],
)
def test_it_ends_on_the_persons_clock(choice: str, picked: str, ends: str) -> None:
    now = datetime(2026, 3, 28, 22, 30, tzinfo=UTC)  # a Saturday, 23:30 in Berlin
    assert snooze.until(choice, picked, now, BERLIN) == datetime.fromisoformat(ends).replace(tzinfo=UTC)


def test_this_evening_is_offered_until_it_has_come() -> None:
    before, at = datetime(2026, 6, 1, 16, 59, tzinfo=UTC), datetime(2026, 6, 1, 17, tzinfo=UTC)  # 18:00 in Lagos
    lagos = ZoneInfo("Africa/Lagos")
    always = [one.value for one in snooze.ALWAYS]
    assert {one.value for one in snooze.offered(before, lagos)} - set(always) == {"evening"}
    assert [one.value for one in snooze.offered(at, lagos)] == always
    with pytest.raises(snooze.InvalidSnooze, match="has passed"):
        snooze.check(snooze.until("evening", "", at, lagos), at)


@pytest.mark.parametrize(
    ("ahead", "code"), [(timedelta(0), "passed"), (timedelta(366), ""), (timedelta(366, microseconds=1), "too_far")]
)
def test_it_ends_within_a_year_where_that_is_asked(ahead: timedelta, code: str) -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    if not code:
        return snooze.check(now + ahead, now, snooze.FURTHEST)
    with pytest.raises(snooze.InvalidSnooze) as caught:
        snooze.check(now + ahead, now, snooze.FURTHEST)
    assert caught.value.code == code
