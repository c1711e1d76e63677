# ruff: noqa: E501
"""Calendars as other programs write them: each case says what its file means, in UTC after 1 January 2026."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from common.parsing.budget import Budget
from schedules.job_kinds.calendar_events import Entry, ReminderTimes, Wanted, wanted
from schedules.job_kinds.calendar_file import NotACalendar
from tests.unit.schedules.job_kinds.test_calendar import BERLIN, NOW, file, read, time
from tests.unit.schedules.job_kinds.test_calendar_inputs import slots as slots_of

Z = "DTSTART:20260105T090000Z"
BERLIN_9 = "DTSTART;TZID=Europe/Berlin:20260105T090000"
DAILY = "RRULE:FREQ=DAILY;COUNT=4"


def found(text: str | bytes, **times: Any) -> Wanted:
    asked = {"before": timedelta(0), "uses_alarms": True, "all_day_at": time(9)} | times
    return wanted(read(text), ReminderTimes(**asked), BERLIN, NOW, Budget(seconds=10))


def said(entries: list[Entry], most: int = 9) -> str:
    return " ".join(f"{slot:%m-%d %H:%M}" for slot in slots_of(entries, NOW, most))


def rings(*events: str, head: str = "", most: int = 9) -> str:
    text = file(*events).replace("VERSION:2.0\r\n", f"VERSION:2.0\r\n{head}")
    result = found(text)
    return said(result.entries, most) + "".join(f" !{why}" for _title, why in result.unfit)


def one(*lines: str) -> str:
    return "\n".join(("UID:1", "SUMMARY:Dentist", *lines))


def alarm(trigger: str, *more: str) -> str:
    return "\n".join(("BEGIN:VALARM", "ACTION:DISPLAY", trigger, *more, "END:VALARM"))


FOUR = "01-05 09:00 01-06 09:00 01-07 09:00 01-08 09:00"
DAYS = "DTSTART;VALUE=DATE:20260105"
SERIES = {
    "EXDATE as a date leaves out the time of that day": ([one(Z, DAILY, "EXDATE;VALUE=DATE:20260106")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "EXDATE as a midnight leaves out the day": ([one(DAYS, DAILY, "EXDATE:20260106T000000")], "01-05 08:00 01-07 08:00 01-08 08:00"),
    "EXDATE as a midnight with a zone, too": ([one(DAYS, DAILY, "EXDATE;TZID=Europe/Berlin:20260106T000000")], "01-05 08:00 01-07 08:00 01-08 08:00"),
    "EXDATE as a midnight in UTC, too": ([one(DAYS, DAILY, "EXDATE:20260106T000000Z")], "01-05 08:00 01-07 08:00 01-08 08:00"),
    "EXDATE in UTC of a series with a zone": ([one(BERLIN_9, DAILY, "EXDATE:20260106T080000Z")], "01-05 08:00 01-07 08:00 01-08 08:00"),
    "EXDATE in another zone": ([one(BERLIN_9, DAILY, "EXDATE;TZID=America/New_York:20260106T030000")], "01-05 08:00 01-07 08:00 01-08 08:00"),
    "EXDATE in several lines and lists": ([one(Z, DAILY, "EXDATE:20260106T090000Z,20260107T090000Z", "EXDATE:20260108T090000Z")], "01-05 09:00"),
    "EXDATE as vCalendar 1.0 lists it": ([one(Z, DAILY, "EXDATE:20260106T090000Z;20260107T090000Z")], "01-05 09:00 01-08 09:00"),
    "EXDATE of another time leaves out nothing": ([one(Z, DAILY, "EXDATE:20260106T100000Z")], FOUR),
    "EXDATE of the first date": ([one(Z, DAILY, "EXDATE:20260105T090000Z")], "01-06 09:00 01-07 09:00 01-08 09:00"),
    "RDATE adds dates": ([one(Z, "RDATE:20260107T100000Z,20260109T110000Z")], "01-05 09:00 01-07 10:00 01-09 11:00"),
    "RDATE as periods": ([one(Z, "RDATE;VALUE=PERIOD:20260107T100000Z/PT1H")], "01-05 09:00 01-07 10:00"),
    "RDATE beside a rule, once where both name a date": ([one(Z, DAILY, "RDATE:20260106T090000Z,20260106T120000Z")], "01-05 09:00 01-06 09:00 01-06 12:00 01-07 09:00 01-08 09:00"),
    "RDATE that EXDATE leaves out": ([one(Z, "RDATE:20260107T090000Z", "EXDATE:20260107T090000Z")], "01-05 09:00"),
    "several rules": ([one(Z, "RRULE:FREQ=WEEKLY;COUNT=2;BYDAY=MO", "RRULE:FREQ=WEEKLY;COUNT=2;BYDAY=WE")], "01-05 09:00 01-07 09:00 01-12 09:00 01-14 09:00"),
    "one date moved": ([one(Z, DAILY), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T150000Z")], "01-05 09:00 01-06 15:00 01-07 09:00 01-08 09:00"),
    "one date moved, named by its day": ([one(Z, DAILY), one("RECURRENCE-ID;VALUE=DATE:20260106", "DTSTART:20260106T150000Z")], "01-05 09:00 01-06 15:00 01-07 09:00 01-08 09:00"),
    "one day moved, named by a midnight": ([one(DAYS, DAILY), one("RECURRENCE-ID:20260106T000000", "DTSTART;VALUE=DATE:20260110")], "01-05 08:00 01-07 08:00 01-08 08:00 01-10 08:00"),
    "one date moved, named in another zone": ([one(BERLIN_9, DAILY), one("RECURRENCE-ID:20260106T080000Z", "DTSTART:20260106T150000Z")], "01-05 08:00 01-06 15:00 01-07 08:00 01-08 08:00"),
    "one date cancelled": ([one(Z, DAILY), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T090000Z", "STATUS:CANCELLED")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "the changed date stands before its series": ([one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T150000Z"), one(Z, DAILY)], "01-05 09:00 01-06 15:00 01-07 09:00 01-08 09:00"),
    "this and future": ([one(Z, DAILY), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260107T090000Z", "DTSTART:20260107T110000Z")], "01-05 09:00 01-06 09:00 01-07 11:00 01-08 11:00"),
    "this and future, of another zone": ([one(BERLIN_9, DAILY), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260107T080000Z", "DTSTART:20260107T100000Z")], "01-05 08:00 01-06 08:00 01-07 10:00 01-08 10:00"),
    "this and future, twice": ([one(Z, DAILY), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260106T090000Z", "DTSTART:20260106T110000Z"), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260108T090000Z", "DTSTART:20260108T130000Z")], "01-05 09:00 01-06 11:00 01-07 11:00 01-08 13:00"),
    "this and future with one date of it moved": ([one(Z, DAILY), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260106T090000Z", "DTSTART:20260106T110000Z"), one("RECURRENCE-ID:20260107T090000Z", "DTSTART:20260107T200000Z")], "01-05 09:00 01-06 11:00 01-07 20:00 01-08 11:00"),
    "this and future, cancelled": ([one(Z, DAILY), one("RECURRENCE-ID;RANGE=THISANDFUTURE:20260107T090000Z", "DTSTART:20260107T090000Z", "STATUS:CANCELLED")], "01-05 09:00 01-06 09:00"),
    "a change after the series' end": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=20260106T090000Z"), one("RECURRENCE-ID:20260108T090000Z", "DTSTART:20260109T100000Z")], "01-05 09:00 01-06 09:00 01-09 10:00"),
    "EXDATE as a date of a date that was moved": ([one(Z, DAILY, "EXDATE;VALUE=DATE:20260106"), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T150000Z")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "EXDATE as a time of a date that was moved by its day": ([one(Z, DAILY, "EXDATE:20260106T090000Z"), one("RECURRENCE-ID;VALUE=DATE:20260106", "DTSTART:20260106T150000Z")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "BYSECOND=0": ([one(Z, "RRULE:FREQ=DAILY;COUNT=2;BYHOUR=9;BYMINUTE=0;BYSECOND=0")], "01-05 09:00 01-06 09:00"),
    "COUNT=-1 beside UNTIL": ([one(Z, "RRULE:FREQ=DAILY;COUNT=-1;UNTIL=20260106T090000Z")], "01-05 09:00 01-06 09:00"),
    "COUNT and UNTIL, whichever is first": ([one(Z, "RRULE:FREQ=DAILY;COUNT=2;UNTIL=20260108T090000Z")], "01-05 09:00 01-06 09:00"),
    "UNTIL as a day of a series with times": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=20260106")], "01-05 09:00 01-06 09:00"),
    "UNTIL as ISO 8601 with marks": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=2026-01-06T09:00:00Z")], "01-05 09:00 01-06 09:00"),
    "UNTIL as a day with marks": ([one(BERLIN_9, "RRULE:FREQ=DAILY;UNTIL=2026-01-06")], "01-05 08:00 01-06 08:00"),
    "UNTIL with an offset": ([one(BERLIN_9, "RRULE:FREQ=DAILY;UNTIL=20260106T090000+0100")], "01-05 08:00 01-06 08:00"),
    "UNTIL with a fraction": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=20260106T090000.000Z")], "01-05 09:00 01-06 09:00"),
    "UNTIL without seconds": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=20260106T0900Z")], "01-05 09:00 01-06 09:00"),
    "an empty UNTIL beside COUNT": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=;COUNT=2")], "01-05 09:00 01-06 09:00"),
    "UNTIL with a time of a series of days": ([one(DAYS, "RRULE:FREQ=DAILY;UNTIL=20260106T000000Z")], "01-05 08:00 01-06 08:00"),
    "UNTIL in UTC of a series with a zone": ([one(BERLIN_9, "RRULE:FREQ=DAILY;UNTIL=20260106T080000Z")], "01-05 08:00 01-06 08:00"),
    "RSCALE=GREGORIAN;SKIP=BACKWARD": ([one("DTSTART:20260131T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=BACKWARD;COUNT=3")], "01-31 09:00 02-28 09:00 03-31 09:00"),
    "SKIP=FORWARD of 29 February": ([one("DTSTART:20240229T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD;COUNT=3")], "03-01 09:00"),
    "SKIP=OMIT": ([one("DTSTART:20260131T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=OMIT;COUNT=2")], "01-31 09:00 03-31 09:00"),
    "weeks of the year": ([one("DTSTART;TZID=Europe/Berlin:20260105T090000", "RRULE:FREQ=YEARLY;BYWEEKNO=2,3;BYDAY=MO;COUNT=3")], "01-05 08:00 01-12 08:00 01-11 08:00"),
    "small letters and spaces": ([one(Z, "RRULE:freq=daily; count=2")], "01-05 09:00 01-06 09:00"),
    "the start does not fit the rule, and counts": ([one(Z, "RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=2")], "01-05 09:00 01-06 09:00 01-13 09:00"),
    "the clock changes within the series": ([one("DTSTART;TZID=Europe/Berlin:20260328T090000", "RRULE:FREQ=DAILY;COUNT=3")], "03-28 08:00 03-29 07:00 03-30 07:00"),
    "INTERVAL=0": ([one(Z, "RRULE:FREQ=DAILY;INTERVAL=0;COUNT=2")], "01-05 09:00 01-06 09:00"),
    "SKIP=BACKWARD, each year": ([one("DTSTART:20240229T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=BACKWARD;COUNT=4")], "02-28 09:00 02-28 09:00"),
    "an event without a date, beside another": (["SUMMARY:A", one(Z)], "01-05 09:00 !Its date is not in the calendar."),
    "an empty rule": ([one(Z, "RRULE:")], "01-05 09:00"),
}  # fmt: skip
VERSIONS = {
    "the highest SEQUENCE wins, wherever it stands": ([one(Z, "SEQUENCE:2"), one("DTSTART:20260106T090000Z", "SEQUENCE:1")], "01-05 09:00"),
    "of the same SEQUENCE the latest DTSTAMP": ([one(Z, "DTSTAMP:20250601T000000Z"), one("DTSTART:20260106T090000Z", "DTSTAMP:20250501T000000Z")], "01-05 09:00"),
    "the latest DTSTAMP as ISO 8601 writes it": ([one(Z, "DTSTAMP:2025-06-01T00:00:00+01:00"), one("DTSTART:20260106T090000Z", "DTSTAMP:20250501T0000Z")], "01-05 09:00"),
    "DTSTAMPs with a zone and without": ([one(Z, "DTSTAMP:20250601T0000Z"), one("DTSTART:20260106T090000Z", "DTSTAMP:20250501T000000")], "01-05 09:00"),
    "SEQUENCE counts more than DTSTAMP": ([one(Z, "SEQUENCE:1", "DTSTAMP:20250101T000000Z"), one("DTSTART:20260106T090000Z", "DTSTAMP:20250601T000000Z")], "01-05 09:00"),
    "a later version that is cancelled": ([one(Z, "SEQUENCE:1"), one(Z, "SEQUENCE:2", "STATUS:CANCELLED")], ""),
    "of a changed date the highest SEQUENCE": ([one(Z, DAILY), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T150000Z", "SEQUENCE:1"), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T160000Z", "SEQUENCE:2")], "01-05 09:00 01-06 16:00 01-07 09:00 01-08 09:00"),
    "events without UID": (["SUMMARY:A\n" + Z, "SUMMARY:B\nDTSTART:20260106T090000Z", "SUMMARY:B\n" + Z], "01-05 09:00 01-05 09:00 01-06 09:00"),
    "one UID for several": ([one(Z), one("DTSTART:20260106T090000Z"), one("DTSTART:20260107T090000Z")], "01-05 09:00 01-06 09:00 01-07 09:00"),
    "the same event twice": ([one(Z), one(Z)], "01-05 09:00"),
    "STATUS:cancelled": ([one(Z, "STATUS:cancelled")], ""),
    "a cancelled series": ([one(Z, DAILY, "STATUS:CANCELLED")], ""),
    "a day written as midnight to midnight": ([one("DTSTART:20260105T000000", "DTEND:20260106T000000")], "01-05 08:00"),
    "a day written as midnight in a zone": ([one("DTSTART;TZID=Europe/Berlin:20260105T000000", "DTEND;TZID=Europe/Berlin:20260106T000000")], "01-05 08:00"),
    "a day written as midnight and a length": ([one("DTSTART:20260105T000000", "DURATION:P1D")], "01-05 08:00"),
    "days written as midnight and hours": ([one("DTSTART;TZID=Europe/Berlin:20260105T000000", "DURATION:PT48H")], "01-05 08:00"),
    "a day by Outlook's own property": ([one("DTSTART:20260105T000000", "X-MICROSOFT-CDO-ALLDAYEVENT:TRUE")], "01-05 08:00"),
    "midnight for an hour is a time": ([one("DTSTART:20260105T000000Z", "DTEND:20260105T010000Z")], "01-05 00:00"),
}  # fmt: skip
AT_EIGHT = "TRIGGER;VALUE=DATE-TIME:20260104T080000"
ALARMS = {
    "several": ([one(Z, alarm("TRIGGER:-PT1H"), alarm("TRIGGER:-P1D"), alarm("TRIGGER:PT0S"))], "01-04 09:00 01-05 08:00 01-05 09:00"),
    "the same twice": ([one(Z, alarm("TRIGGER:-PT1H"), alarm("TRIGGER:-PT60M"))], "01-05 08:00"),
    "absolute": ([one(Z, alarm("TRIGGER;VALUE=DATE-TIME:20260103T120000Z"))], "01-03 12:00"),
    "absolute without its VALUE": ([one(Z, alarm("TRIGGER:20260103T120000Z"))], "01-03 12:00"),
    "absolute and relative": ([one(Z, alarm("TRIGGER:-PT1H"), alarm("TRIGGER;VALUE=DATE-TIME:20260103T120000Z"))], "01-03 12:00 01-05 08:00"),
    "related to the end": ([one(Z, "DTEND:20260105T110000Z", alarm("TRIGGER;RELATED=END:-PT30M"))], "01-05 10:30"),
    "related to the end by a duration": ([one(Z, "DURATION:PT2H", alarm("TRIGGER;RELATED=END:PT0S"))], "01-05 11:00"),
    "after the start": ([one(Z, alarm("TRIGGER:PT15M"))], "01-05 09:15"),
    "in weeks": ([one("DTSTART:20260120T090000Z", alarm("TRIGGER:-P1W"))], "01-13 09:00"),
    "an all-day event's own": ([one(DAYS, alarm("TRIGGER:-PT15H"))], "01-04 08:00"),
    "an all-day event's on the day": ([one(DAYS, alarm("TRIGGER:PT9H"))], "01-05 08:00"),
    "an all-day series' own": ([one(DAYS, DAILY, alarm("TRIGGER:-PT15H"))], "01-04 08:00 01-05 08:00 01-06 08:00 01-07 08:00"),
    "of a series a day before": ([one(Z, DAILY, alarm("TRIGGER:-P1D"))], "01-04 09:00 01-05 09:00 01-06 09:00 01-07 09:00"),
    "of a series over midnight": ([one("DTSTART:20260105T003000Z", DAILY, alarm("TRIGGER:-PT1H"))], "01-04 23:30 01-05 23:30 01-06 23:30 01-07 23:30"),
    "ACTION:NONE is none": ([one(Z, "BEGIN:VALARM\nACTION:NONE\nTRIGGER:-PT1H\nEND:VALARM")], "01-05 09:00"),
    "without a trigger": ([one(Z, "BEGIN:VALARM\nACTION:DISPLAY\nEND:VALARM")], "01-05 09:00"),
    "nonsense": ([one(Z, alarm("TRIGGER:soon"))], "01-05 09:00"),
    "minutes without T": ([one(Z, alarm("TRIGGER:-P15M"))], "01-05 08:45"),
    "hours and minutes without T": ([one(Z, alarm("TRIGGER:-p1h30m"))], "01-05 07:30"),
    "days after T": ([one(Z, alarm("TRIGGER:-PT1D"))], "01-04 09:00"),
    "years, which no alarm has": ([one(Z, alarm("TRIGGER:-P1Y"))], "01-05 09:00"),
    "longer than any": ([one(Z, alarm("TRIGGER:-P99999999W"))], "01-05 09:00"),
    "of no length": ([one(Z, alarm("TRIGGER:P"), alarm("TRIGGER;RELATED=START:-PT"))], "01-05 09:00"),
    "absolute, on the event's clock": ([one(BERLIN_9, alarm(AT_EIGHT))], "01-04 07:00"),
    "absolute, of an event in UTC": ([one(Z, alarm(AT_EIGHT))], "01-04 08:00"),
    "absolute, without any zone": ([one("DTSTART:20260105T090000", alarm(AT_EIGHT))], "01-04 07:00"),
    "absolute, of a day": ([one(DAYS, alarm(AT_EIGHT))], "01-04 07:00"),
    "absolute, of a series without any zone": ([one("DTSTART:20260105T090000", DAILY, alarm(AT_EIGHT))], "01-04 07:00 01-05 08:00 01-06 08:00 01-07 08:00 01-08 08:00"),
    "absolute, in a zone of its own": ([one(Z, alarm("TRIGGER;VALUE=DATE-TIME;TZID=America/New_York:20260104T080000"))], "01-04 13:00"),
    "absolute, in an unknown zone": ([one(Z, alarm("TRIGGER;VALUE=DATE-TIME;TZID=Mars/Base:20260104T080000"))], "01-05 09:00"),
    "Apple's, at no time": ([one(Z, alarm("TRIGGER;VALUE=DATE-TIME:19760401T005545Z"))], "01-05 09:00"),
    "of vCalendar 1.0": ([one(Z, "DALARM:20260105T083000Z;PT5M;2;ring", "AALARM;TYPE=WAVE:20260105T080000Z;;0;")], "01-05 08:00 01-05 08:30"),
}  # fmt: skip
ZONES = {
    "GMT Standard Time 1": ("DTSTART;TZID=GMT Standard Time 1:20260105T090000", "01-05 09:00"),
    "tzone": ("DTSTART;TZID=tzone://Microsoft/Utc:20260105T090000", "01-05 09:00"),
    "an offset": ("DTSTART;TZID=UTC-06:00:20260105T090000", "01-05 15:00"),
    "an offset in brackets": ('DTSTART;TZID="(GMT +01:00)":20260105T090000', "01-05 08:00"),
    "an offset in quotes": ('DTSTART;TZID="GMT+0530":20260105T090000', "01-05 03:30"),
    "Windows' name": ("DTSTART;TZID=Pacific Standard Time:20260105T090000", "01-05 17:00"),
    "Outlook's words": ('DTSTART;TZID="(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna":20260105T090000', "01-05 08:00"),
    "Mozilla's path": ("DTSTART;TZID=/mozilla.org/20050126_1/America/New_York:20260105T090000", "01-05 14:00"),
    "a small name": ("DTSTART;TZID=europe/berlin:20260105T090000", "01-05 08:00"),
    "an old name": ("DTSTART;TZID=US/Eastern:20260105T090000", "01-05 14:00"),
    "no seconds": ("DTSTART:20260105T0930", "01-05 08:30"),
    "no seconds, in UTC": ("DTSTART:20260105T0930Z", "01-05 09:30"),
    "ISO 8601 with marks": ("DTSTART:2026-01-05T09:30:00Z", "01-05 09:30"),
    "a fraction": ("DTSTART:20260105T093000.000Z", "01-05 09:30"),
    "an offset in the value": ("DTSTART:20260105T093000+0200", "01-05 07:30"),
    "a leap second": ("DTSTART:20260105T235960Z", "01-05 23:59"),
    "a date without VALUE": ("DTSTART:20260105", "01-05 08:00"),
    "a date with a Z": ("DTSTART;VALUE=DATE:20260105Z", "01-05 08:00"),
    "Z as a zone": ("DTSTART;TZID=Z:20260105T090000", "01-05 09:00"),
    "EST": ("DTSTART;TZID=EST:20260105T090000", "01-05 14:00"),
    "a Windows zone in quotes with a path": ('DTSTART;TZID="/Microsoft/Eastern Standard Time":20260105T090000', "01-05 14:00"),
}  # fmt: skip


@pytest.mark.parametrize("why", [*SERIES, *VERSIONS, *ALARMS])
def test_it_rings_as_the_file_means(why: str) -> None:
    events, expected = (SERIES | VERSIONS | ALARMS)[why]
    assert rings(*events) == expected


@pytest.mark.parametrize("start", ["16040214", "17760214", "18990214", "--0214", "00000214", "19500214", "20080214"])
@pytest.mark.parametrize("rule", ["RRULE:FREQ=YEARLY", "RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=14"])
def test_a_birthday_comes_each_year(start: str, rule: str) -> None:
    assert rings(one(f"DTSTART;VALUE=DATE:{start}", rule), most=2) == "02-14 08:00 02-14 08:00"


@pytest.mark.parametrize("start", ["16040214", "--0214", "00000214"])
def test_a_date_without_a_year_is_a_birthday(start: str) -> None:
    assert rings(one(f"DTSTART;VALUE=DATE:{start}"), most=2) == "02-14 08:00 02-14 08:00"


def test_what_cannot_be_said_is_not_guessed() -> None:
    forward = one("DTSTART:20260131T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=FORWARD;COUNT=3")
    hebrew = one(Z, "RRULE:RSCALE=HEBREW;FREQ=YEARLY")
    last_day = one("DTSTART:20240101T090000Z", "RRULE:RSCALE=GREGORIAN;FREQ=YEARLY;BYYEARDAY=-366;SKIP=FORWARD;COUNT=5")
    assert "SKIP" in rings(forward) and "RSCALE" in rings(hebrew) and "SKIP" in rings(last_day)


def test_a_rule_of_seconds_since_1970_stops_no_other_event() -> None:
    seconds = one("DTSTART:19700101T000000Z", "RRULE:FREQ=MINUTELY;BYSECOND=1,2,3,4")
    said = rings(seconds, f"UID:2\n{Z}")
    assert said.startswith("01-05 09:00 !") and "BYSECOND" in said


def test_an_hourly_rule_may_have_both_ends() -> None:
    both = one(Z, "RRULE:FREQ=HOURLY;COUNT=3;UNTIL=20260106T000000Z")
    assert rings(both) == "01-05 09:00 01-05 10:00 01-05 11:00"


def test_a_count_in_another_digit_stops_no_other_event() -> None:
    said = rings(one(Z, "RRULE:FREQ=DAILY;COUNT=²"), f"UID:2\n{Z}")
    assert said.startswith("01-05 09:00 !COUNT")


@pytest.mark.parametrize("why", ZONES)
def test_a_time_is_read_with_its_zone(why: str) -> None:
    start, expected = ZONES[why]
    assert rings(one(start)) == expected


def vtimezone(name: str, daylight: str = "", standard: str = "") -> str:
    return (
        f"BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n"
        f"RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\n{standard}END:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\n"
        f"TZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\n{daylight}END:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
    )


def test_a_zone_without_its_changes_is_the_one_at_its_place() -> None:
    zone = (
        "BEGIN:VTIMEZONE\r\nTZID:Office\r\nX-LIC-LOCATION:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:20251026T030000\r\n"
        "TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    assert rings(one("DTSTART;TZID=Office:20260705T090000"), head=zone) == "07-05 07:00"


@pytest.mark.parametrize("name", ["Customized Time Zone", "Mein Büro", "a/b/c", "1", "Europe of mine: west"])
def test_a_zone_is_what_the_file_says(name: str) -> None:
    quoted = f'"{name}"' if ":" in name else name
    dates = one(f"DTSTART;TZID={quoted}:20260105T090000"), "UID:2\n" + f"DTSTART;TZID={quoted}:20260705T090000"
    assert rings(*dates, head=vtimezone(name)) == "01-05 08:00 07-05 07:00"
    assert rings(dates[0]) != rings(dates[0], head=vtimezone(name))


def test_a_zone_of_the_file_is_known_whatever_its_quotes_and_capitals() -> None:
    for written, defined in (('"My Zone"', '"My Zone"'), ("MY ZONE", "My Zone"), ("My Zone", "My Zone ")):
        assert rings(one(f"DTSTART;TZID={written}:20260105T090000"), head=vtimezone(defined)) == "01-05 08:00"


def test_a_zone_of_the_file_with_one_fixed_offset() -> None:
    fixed = (
        "BEGIN:VTIMEZONE\r\nTZID:Office\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0545\r\n"
        "TZOFFSETTO:+0545\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    assert rings(one("DTSTART;TZID=Office:20260105T090000"), head=fixed) == "01-05 03:15"


def test_the_calendars_zone_is_that_of_times_without_one() -> None:
    head = "X-WR-TIMEZONE:America/New_York\r\n"
    assert rings(one("DTSTART:20260105T090000"), head=head) == "01-05 14:00"
    assert rings(one(BERLIN_9), head=head) == "01-05 08:00"
    # A series in UTC follows the calendar's own clock, as Google means it: 9 in winter is 9 in summer.
    assert rings(one("DTSTART:20260307T140000Z", "RRULE:FREQ=DAILY;COUNT=2"), head=head) == "03-07 14:00 03-08 13:00"


TITLE = "SUMMARY:Dentist"


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        (file(one(Z)).replace("Dentist", "Zahnärztin für K\r\n önig").encode(), "Zahnärztin für König"),
        (file(one(Z)).replace("Dentist", "Zahnärztin").encode().replace(b"\xc3\xa4", b"\xc3\r\n \xa4"), "Zahnärztin"),
        (file(one(Z)).replace("Dentist", "会議室").encode().replace(b"\xe4\xbc\x9a", b"\xe4\n\t\xbc\r\n \x9a"), "会議室"),
        (file(one(Z)).replace("Dentist", "Zahnärztin").encode("iso-8859-1"), "Zahnärztin"),
        (file(one(Z)).replace("Dentist", "Zahnärztin").encode("utf-16"), "Zahnärztin"),
        (file(one(Z)).replace("Dentist", "Zahnärztin").encode("utf-16-be"), "Zahnärztin"),
        (file(one(Z)).replace("Dentist", "Zahnärztin").encode("utf-8-sig"), "Zahnärztin"),
        (file(one(Z)).replace("Dentist", "a\\, b\\; c\\\\d").encode(), "a, b; c\\d"),
        (file(one(Z)).replace("SUMMARY:", "SUMMARY;LANGUAGE=de;X-A=\"b:c\":").encode(), "Dentist"),
        (file(one(Z)).replace("SUMMARY:", "summary:").encode(), "Dentist"),
        (file(one(Z)).replace("SUMMARY:", "SUMMARY :").encode(), "Dentist"),
        (file(one(Z)).replace("END:VEVENT\r\n", "").encode(), "Dentist"),
        (file(one(Z)).replace("\r\n", "\n").encode(), "Dentist"),
        (file(one(Z)).replace("\r\n", "\r").encode(), "Dentist"),
        ((file(one(Z)) + "\r\n\r\n<!-- cached -->\r\nThank you").encode(), "Dentist"),
        (("\r\n\r\n" + file(one(Z))).encode(), "Dentist"),
        ((file(one(Z)) + file()).encode(), "Dentist"),
        (file(one(Z)).partition("VERSION:2.0\r\n")[2].partition("END:VCALENDAR")[0].encode(), "Dentist"),
    ],
    ids=range(18),
)  # fmt: skip
def test_text_is_read_whatever_its_bytes(raw: bytes, title: str) -> None:
    [entry] = found(raw).entries
    assert entry.title == title


def test_a_description_in_html_is_text_with_its_links() -> None:
    html = (
        '<html-blob>Join <a href="https://meet.example.org/x">here</a><br>and <b>be</b> on time &amp; ready</html-blob>'
    )
    [entry] = found(file(one(Z, f"DESCRIPTION:{html}"))).entries
    assert entry.body.endswith("Join here (https://meet.example.org/x)\nand be on time & ready")
    [entry] = found(file(one(Z, "DESCRIPTION:if a<b and c>d"))).entries
    assert entry.body.endswith("if a<b and c>d")


@pytest.mark.parametrize(
    "raw", ["BEGIN:VCARD\r\nFN:Ada\r\nEND:VCARD\r\n", "BEGIN:X\nEND:X", file(one(Z))[:-9], file()[:-9]]
)
def test_another_kind_of_file_is_no_calendar(raw: str) -> None:
    with pytest.raises(NotACalendar):
        read(raw)


def task(*lines: str) -> str:
    body = "\r\n".join(("BEGIN:VTODO", "UID:t", "SUMMARY:Tax", *lines, "END:VTODO"))
    result = found(f"BEGIN:VCALENDAR\r\n{body}\r\nEND:VCALENDAR\r\n")
    return said(result.entries)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["DUE:20260105T090000Z"], "01-05 09:00"),
        (["DUE;VALUE=DATE:20260105"], "01-05 08:00"),
        (["DTSTART:20260103T090000Z", "DUE:20260105T090000Z"], "01-05 09:00"),
        (["DUE:20260105T090000Z", "STATUS:COMPLETED"], ""),
        (["DUE:20260105T090000Z", "COMPLETED:20260101T000000Z"], ""),
        (["DUE:20260105T090000Z", "PERCENT-COMPLETE:100"], ""),
        (["DUE:20260105T090000Z", "BEGIN:VALARM", "TRIGGER;RELATED=END:-PT1H", "END:VALARM"], "01-05 08:00"),
        (["DTSTART:20260105T080000Z", "DUE:20260105T090000Z", "RRULE:FREQ=DAILY;COUNT=2"], "01-05 09:00 01-06 09:00"),
        (["DTSTART:20260105T080000Z"], ""),
        (["DTSTART:20260105T080000Z", "BEGIN:VALARM", "TRIGGER:-PT1H", "END:VALARM"], "01-05 07:00"),
        (
            ["DTSTART;VALUE=DATE:20260105", "DUE:20260105T090000Z", "RRULE:FREQ=DAILY;COUNT=2"],
            "01-05 09:00 01-06 09:00",
        ),
        (["DTSTART:20260105T080000Z", "DURATION:PT1H"], "01-05 09:00"),
    ],
)
def test_tasks_that_are_due_are_reminders(lines: list[str], expected: str) -> None:
    assert task(*lines) == expected
