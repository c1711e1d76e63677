"""Real clock changes, one by one; and every change of every zone from 1970 to 2100."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils.translation import override

from schedules.parts.words import clock_change
from schedules.rules import Rule, civil, parse

from .clock_changes import ZONES, clock_changes
from .rules import upcoming


def explain(rule: Rule, slot: datetime) -> str:
    return clock_change(rule.clock_change(slot))


def make_slots(kind: str, data: dict[str, Any], timezone: str, after: str, count: int) -> list[str]:
    """The slots after a UTC time, as the wall clock shows them, with the offset."""
    rule = parse(kind, data, timezone)
    slots = upcoming(rule, datetime.fromisoformat(after).replace(tzinfo=UTC), count)
    return [slot.astimezone(ZoneInfo(timezone)).isoformat(timespec="minutes") for slot in slots]


@pytest.mark.parametrize(
    ("timezone", "time", "after", "slots", "code"),
    [
        ("America/New_York", "02:30", "2026-03-07T12:00", "2026-03-08T03:00-04:00 2026-03-09T02:30-04:00", "moved"),
        ("America/New_York", "01:30", "2026-10-31T12:00", "2026-11-01T01:30-04:00 2026-11-02T01:30-05:00", "once"),
        ("Europe/Berlin", "02:30", "2026-03-28T12:00", "2026-03-29T03:00+02:00 2026-03-30T02:30+02:00", "moved"),
        ("Australia/Lord_Howe", "02:15", "2026-10-02T20:00", "2026-10-04T02:30+11:00 2026-10-05T02:15+11:00", "moved"),
        ("Australia/Lord_Howe", "01:45", "2026-04-03T20:00", "2026-04-05T01:45+11:00 2026-04-06T01:45+10:30", "once"),
        ("Pacific/Apia", "09:00", "2011-12-29T20:00", "2011-12-31T00:00+14:00 2011-12-31T09:00+14:00", "moved"),
        ("Africa/Casablanca", "02:30", "2026-02-14T12:00", "2026-02-15T02:30+01:00 2026-02-16T02:30+00:00", "once"),
        ("Africa/Casablanca", "02:30", "2026-03-21T12:00", "2026-03-22T03:00+01:00 2026-03-23T02:30+01:00", "moved"),
        ("Antarctica/Troll", "01:30", "2026-03-28T12:00", "2026-03-29T03:00+02:00 2026-03-30T01:30+02:00", "moved"),
    ],
)
def test_a_daily_time_is_moved_past_a_gap_and_fires_once_when_it_comes_twice(
    timezone: str, time: str, after: str, slots: str, code: str
) -> None:
    assert make_slots("daily", {"time": time}, timezone, after, 2) == slots.split()
    rule = parse("daily", {"time": time}, timezone)
    changed, ordinary = map(datetime.fromisoformat, slots.split())
    change = rule.clock_change(changed)
    assert change is not None
    assert (change.code, change.timezone, f"{change.times[0]:%H:%M}") == (code, timezone, time)
    assert change.fires_at == changed.replace(tzinfo=None)
    assert rule.clock_change(ordinary) is None


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("once", {"at": "2026-03-29T02:30"}),
        ("daily", {"time": "02:30"}),
        ("weekly", {"time": "02:30", "days": [6]}),
        ("monthly", {"time": "02:30", "day": 29}),
        ("cron", {"expression": "30 2 * * *"}),
        ("rrule", {"rule": "DTSTART:20260101T023000\nRRULE:FREQ=DAILY"}),
    ],
)
def test_every_kind_on_civil_time_treats_a_gap_alike(kind: str, data: dict[str, Any]) -> None:
    assert make_slots(kind, data, "Europe/Berlin", "2026-03-28T12:00", 1) == ["2026-03-29T03:00+02:00"]
    slot = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert explain(parse(kind, data, "Europe/Berlin"), slot) == (
        "02:30 does not exist on 29 March 2026 in Berlin: rings at 03:00"
    )


def test_several_times_in_a_gap_merge_into_one_slot_at_its_end() -> None:
    assert make_slots("cron", {"expression": "0,20,40 2 * * *"}, "Europe/Berlin", "2026-03-28T12:00", 2) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:00+02:00",
    ]
    rule = parse("cron", {"expression": "0,20,40 2 * * *"}, "Europe/Berlin")
    assert explain(rule, datetime(2026, 3, 29, 1, tzinfo=UTC)) == (
        "02:00, 02:20 and 02:40 do not exist on 29 March 2026 in Berlin: rings once for them, at 03:00"
    )


def test_times_in_a_gap_merge_with_a_slot_that_is_due_at_its_end_anyway() -> None:
    rule = parse("cron", {"expression": "0-59/15 0-23 * * *"}, "Pacific/Apia")
    end_of_gap = datetime(2011, 12, 30, 10, tzinfo=UTC)
    assert upcoming(rule, end_of_gap - timedelta(minutes=1), 2) == [end_of_gap, end_of_gap + timedelta(minutes=15)]
    assert explain(rule, end_of_gap) == (
        "00:00, 00:15 … 23:45 (96 times) do not exist on 30 December 2011 in Apia: "
        "merged with 00:00 on 31 December 2011"
    )


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "gibt es am 30. Dezember 2011 in Apia nicht: meldet sich stattdessen um 00:00 am 31. Dezember 2011"),
        ("es", "no existe el 30 de diciembre de 2011 en Apia: suena a las 00:00 del 31 de diciembre de 2011"),
    ],
)
def test_the_days_are_written_as_readers_write_them(language: str, text: str) -> None:
    with override(language):
        note = explain(parse("daily", {"time": "09:00"}, "Pacific/Apia"), datetime(2011, 12, 30, 10, tzinfo=UTC))
    assert note.endswith(f"09:00 {text}")


@pytest.mark.parametrize("expression", ["0,30 0-23 * * *", "0-59/30 2,3 * * *"])
def test_fixed_times_of_a_repeated_hour_fire_once(expression: str) -> None:
    assert make_slots("cron", {"expression": expression}, "Europe/Berlin", "2026-10-24T23:31", 4) == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T03:00+01:00",
        "2026-10-25T03:30+01:00",
    ]


@pytest.mark.parametrize("expression", ["*/30 * * * *", "*/30 2-3 * * *", "0,30 * * * *"])
def test_a_cron_with_a_star_in_its_minute_or_hour_also_fires_in_a_repeated_hour(expression: str) -> None:
    assert make_slots("cron", {"expression": expression}, "Europe/Berlin", "2026-10-24T23:31", 5) == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T02:30+01:00",
        "2026-10-25T03:00+01:00",
    ]
    rule = parse("cron", {"expression": expression}, "Europe/Berlin")
    for hour in (0, 1):
        assert explain(rule, datetime(2026, 10, 25, hour, tzinfo=UTC)) == (
            "02:00 happens twice on 25 October 2026 in Berlin: rings both times"
        )


@pytest.mark.parametrize(
    ("expression", "timezone", "after", "slots"),
    [
        ("15 */2 * * *", "Europe/Berlin", "2026-03-28T23:30", ["2026-03-29T04:15+02:00"]),
        ("@hourly", "Europe/Berlin", "2026-03-29T00:00", ["2026-03-29T03:00+02:00"]),
        ("*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-30T02:00+02:00"]),
        ("0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:29", ["2026-10-04T01:00+10:30", "2026-10-04T03:00+11:00"]),
        ("0 */6 * * *", "Pacific/Apia", "2011-12-30T05:00", ["2011-12-31T00:00+14:00", "2011-12-31T06:00+14:00"]),
        ("*/5 2 25 10 *", "Europe/Berlin", "2026-10-25T01:55", ["2027-10-25T02:00+02:00"]),
    ],
)
def test_a_cron_with_a_star_in_its_minute_or_hour_leaves_out_what_the_clock_skips(
    expression: str, timezone: str, after: str, slots: list[str]
) -> None:
    assert make_slots("cron", {"expression": expression}, timezone, after, len(slots)) == slots


def test_an_interval_counts_elapsed_time_through_both_changes() -> None:
    hourly = {"every": 1, "unit": "hours", "anchor": "2026-01-01T00:30:00+00:00"}
    assert make_slots("interval", hourly, "Europe/Berlin", "2026-10-24T23:50", 3) == [
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:30+01:00",
        "2026-10-25T03:30+01:00",
    ]
    assert make_slots("interval", hourly, "Europe/Berlin", "2026-03-29T00:00", 2) == [
        "2026-03-29T01:30+01:00",
        "2026-03-29T03:30+02:00",
    ]


def test_an_offset_with_seconds_is_kept_to_the_second() -> None:
    rule = parse("daily", {"time": "00:10"}, "Africa/Monrovia")
    assert upcoming(rule, datetime(1972, 1, 5, 12, tzinfo=UTC), 2) == [
        datetime(1972, 1, 6, 0, 54, 30, tzinfo=UTC),
        datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC),
    ]
    assert civil.first_instant(ZoneInfo("Europe/Berlin"), datetime(1890, 1, 1, 12)) == datetime(  # noqa: DTZ001 - civil
        1890, 1, 1, 11, 6, 32, tzinfo=UTC
    )


@pytest.mark.parametrize("at", ["2026-10-25T02:59:59.999999", "2026-10-25T02:00:00"])
def test_a_microsecond_inside_a_repeated_hour_rings_the_first_time_only(at: str) -> None:
    rule = parse("once", {"at": at}, "Europe/Berlin")
    slot = datetime.fromisoformat(f"{at}+02:00").astimezone(UTC)
    assert rule.next_after(slot - timedelta(microseconds=1)) == slot
    for second_pass in (0, 1, 1800, 3599):
        assert rule.next_after(datetime(2026, 10, 25, 1, tzinfo=UTC) + timedelta(seconds=second_pass)) is None


def test_every_clock_change_of_a_zone_is_resolved_to_the_second() -> None:
    """Of every zone in CI, and if ORACLE_EXAMPLES is set; else of a quarter of them."""
    is_whole = os.environ.keys() & {"CI", "ORACLE_EXAMPLES"}
    zones = ZONES if is_whole else random.Random(1).sample(ZONES, len(ZONES) // 4)
    # Zones that change their clocks at the same instants are looked at once for each set of offsets.
    looked_at: set[tuple[object, ...]] = set()
    gaps = repeats = 0
    second = timedelta(seconds=1)
    for timezone in zones:
        zone = ZoneInfo(timezone)
        for change in clock_changes(timezone):
            before, after = civil.local(zone, change - second) + second, civil.local(zone, change)
            if (change, before, after) in looked_at:
                continue
            looked_at.add((change, before, after))
            if after > before:
                gaps += 1
                for skipped in (before, before + (after - before) / 3, after - second, after):
                    assert civil.first_instant(zone, skipped) == change
                assert civil.high_water(zone, change) == after
                assert civil.gap_before(zone, change) == (before, after)
            else:
                repeats += 1
                for repeated in (after, after + (before - after) / 3, before - second):
                    assert civil.first_instant(zone, repeated) == change - (before - repeated)
                    assert civil.happens_twice(zone, repeated)
                for passed in (timedelta(0), second, before - after - second):
                    assert civil.high_water(zone, change + passed) == before - timedelta(microseconds=1)
                assert civil.first_instant(zone, before) == change + (before - after)
                assert civil.high_water(zone, change + (before - after)) == before
            assert civil.first_instant(zone, before - second) == change - second
    assert min(gaps, repeats) > 8 * len(zones)
