"""Who is on call, by a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from people.models import CallOverride, Membership, OnCall
from people.teams.on_call import Rota, plan, who

BERLIN, AUCKLAND = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Auckland")
ADA, BOB, EVE = 1, 2, 3
MONDAY = date(2026, 3, 2)


def turn(person: int, begins: time | None = None, ends: time | None = None) -> Membership:
    return Membership(person_id=person, call_from=begins, call_until=ends)


def override(person: int, begins: datetime, ends: datetime) -> CallOverride:
    return CallOverride(member=turn(person), begins_at=begins, ends_at=ends)


def rota(turns: Sequence[Membership], first: date, handover: time = time(9), weekly: bool = True) -> Rota:
    return Rota(BERLIN, OnCall(first=first, handover=handover, weekly=weekly), turns)


ALL = (turn(ADA), turn(BOB), turn(EVE))
DAYS = (turn(ADA, time(8), time(20)), turn(BOB, time(20), time(8)), turn(EVE))
HOLIDAY = override(EVE, datetime(2026, 3, 3, 12, tzinfo=UTC), datetime(2026, 3, 4, 12, tzinfo=UTC))
LATER = override(BOB, datetime(2026, 3, 3, 18, tzinfo=UTC), datetime(2026, 3, 3, 20, tzinfo=UTC))

NIGHT = override(ADA, datetime(2026, 3, 3, 21, tzinfo=UTC), datetime(2026, 3, 4, 5, tzinfo=UTC))


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)


WEEKLY, STEADY = rota(ALL, MONDAY), rota(ALL, MONDAY, weekly=False)
BY_TIME = replace(STEADY, turns=DAYS)
SPRING = rota(ALL, date(2026, 3, 22), time(2, 30))
AUTUMN = rota(ALL, date(2026, 10, 18), time(2, 30))
AWAY = replace(WEEKLY, overrides=(HOLIDAY,))
OUT = replace(BY_TIME, turns=(turn(ADA, time(8), time(2, 30)), turn(BOB, time(2, 30), time(8))))
TOGETHER = replace(WEEKLY, overrides=(HOLIDAY, override(BOB, HOLIDAY.begins_at, HOLIDAY.ends_at)))
FIRST, SECOND, LAST = [ADA, BOB, EVE], [BOB, EVE, ADA], [EVE, ADA, BOB]
CASES = {
    "before the first handover, the last of the order is first": (WEEKLY, at("2026-03-02T08:59"), LAST),
    "the first week": (WEEKLY, at("2026-03-02T09:00"), FIRST),
    "the last minute of it": (WEEKLY, at("2026-03-09T08:59"), FIRST),
    "the second week": (WEEKLY, at("2026-03-09T09:00"), SECOND),
    "the fourth week is like the first": (WEEKLY, at("2026-03-23T09:00"), FIRST),
    "without a rotation it stays": (STEADY, at("2026-03-09T09:00"), FIRST),
    "by the zone of the team": (replace(WEEKLY, zone=AUCKLAND), at("2026-03-08T21:00"), SECOND),
    "by day": (BY_TIME, at("2026-03-03T19:59"), [ADA, EVE]),
    "by night": (BY_TIME, at("2026-03-03T20:00"), [BOB, EVE]),
    "after midnight": (BY_TIME, at("2026-03-04T00:01"), [BOB, EVE]),
    "before a handover that the clock skips": (SPRING, at("2026-03-29T01:59"), FIRST),
    "it comes right after the gap": (SPRING, at("2026-03-29T03:00"), SECOND),
    "before a handover in the hour that comes twice": (AUTUMN, at("2026-10-25T02:29"), FIRST),
    "after it": (AUTUMN, at("2026-10-25T02:30"), SECOND),
    "it is not undone when the clock is set back": (AUTUMN, at("2026-10-25T02:10", fold=1), SECOND),
    "an override comes before the order": (AWAY, at("2026-03-03T13:00"), LAST),
    "and outside of its person's times": (
        replace(BY_TIME, overrides=(NIGHT,)),
        at("2026-03-03T23:00"),
        [ADA, BOB, EVE],
    ),
    "it ends at its end": (AWAY, at("2026-03-04T13:00"), FIRST),
    "of two overrides, the later one": (replace(WEEKLY, overrides=(HOLIDAY, LATER)), at("2026-03-03T19:30"), SECOND),
    "of two that begin together, the one that was added later": (TOGETHER, at("2026-03-03T13:00"), SECOND),
    "before the end of somebody's times in the hour that comes twice": (OUT, at("2026-10-25T02:29"), [ADA]),
    "from then on, the next one": (OUT, at("2026-10-25T02:30"), [BOB]),
    "their times do not begin again when the clock is set back": (OUT, at("2026-10-25T02:10", fold=1), [BOB]),
    "times that end in a gap end at the gap": (OUT, at("2026-03-29T03:00"), [BOB]),
    "nobody": (replace(WEEKLY, turns=()), at("2026-03-03T19:30"), []),
    "nobody at this time": (replace(WEEKLY, turns=(DAYS[0],)), at("2026-03-03T21:00"), []),
}


@pytest.mark.parametrize("case", CASES)
def test_who_is_on_call(case: str) -> None:
    rota, instant, people = CASES[case]
    assert who(rota, instant) == people


@pytest.mark.parametrize("night", ["2026-03-28T22:00", "2026-10-24T22:00"], ids=["spring", "autumn"])
@pytest.mark.parametrize("rota", [SPRING, AUTUMN, OUT], ids=["handover in spring", "in autumn", "by times"])
def test_the_plan_says_of_each_moment_of_a_clock_change_who_is_asked(night: str, rota: Rota) -> None:
    begins = at(night).astimezone(UTC)
    planned = plan(rota, begins, begins + timedelta(hours=8))
    for minutes in range(0, 8 * 60, 5):
        moment = begins + timedelta(minutes=minutes)
        assert [people for edge, people in planned if edge <= moment][-1] == who(rota, moment)
