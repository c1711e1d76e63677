# ruff: noqa: E501
"""Rarer ways to write what `test_calendar_cases` tells of: two notations of one thing, several calendars in a file."""

from __future__ import annotations

import base64
import json

import pytest

from schedules.job_kinds.calendar_sync import EVENTS
from tests.unit.schedules.job_kinds.test_calendar import file, read
from tests.unit.schedules.job_kinds.test_calendar_cases import (
    BERLIN_9,
    DAILY,
    DAYS,
    Z,
    alarm,
    found,
    one,
    rings,
    said,
    vtimezone,
)

LATER = "RECURRENCE-ID;RANGE=THISANDFUTURE:"
MIDNIGHT = "DTSTART;TZID=Europe/Berlin:20260105T000000\nDTEND;TZID=Europe/Berlin:20260106T000000"
ALL_DAY = "X-MICROSOFT-CDO-ALLDAYEVENT:TRUE"
SERIES = {
    "this and future from the first date on": ([one(Z, DAILY), one(f"{LATER}20260105T090000Z", "DTSTART:20260105T110000Z")], "01-05 11:00 01-06 11:00 01-07 11:00 01-08 11:00"),
    "this and future by a rule of its own": ([one(Z, DAILY), one(f"{LATER}20260107T090000Z", "DTSTART:20260107T110000Z", "RRULE:FREQ=WEEKLY;COUNT=2")], "01-05 09:00 01-06 09:00 01-07 11:00 01-14 11:00"),
    "this and future that repeats its series' rule": ([one(Z, DAILY), one(f"{LATER}20260107T090000Z", "DTSTART:20260107T110000Z", DAILY)], "01-05 09:00 01-06 09:00 01-07 11:00 01-08 11:00"),
    "this and future, twice, by rules of their own": ([one(Z, DAILY), one(f"{LATER}20260106T090000Z", "DTSTART:20260106T110000Z", "RRULE:FREQ=DAILY;COUNT=9"), one(f"{LATER}20260108T090000Z", "DTSTART:20260108T120000Z", "RRULE:FREQ=DAILY;COUNT=2")], "01-05 09:00 01-06 11:00 01-07 11:00 01-08 12:00 01-09 12:00"),
    "of a date named in two zones the highest SEQUENCE": ([one(BERLIN_9, DAILY), one("RECURRENCE-ID:20260106T080000Z", "DTSTART:20260106T150000Z", "SEQUENCE:1"), one("RECURRENCE-ID;TZID=Europe/Berlin:20260106T090000", "DTSTART:20260106T160000Z", "SEQUENCE:2")], "01-05 08:00 01-06 16:00 01-07 08:00 01-08 08:00"),
    "of a date named by its time and its day, too": ([one(BERLIN_9, DAILY), one("RECURRENCE-ID;TZID=Europe/Berlin:20260106T090000", "DTSTART:20260106T150000Z", "SEQUENCE:2"), one("RECURRENCE-ID;VALUE=DATE:20260106", "DTSTART:20260106T160000Z", "SEQUENCE:1")], "01-05 08:00 01-06 15:00 01-07 08:00 01-08 08:00"),
    "days until the midnight of a zone in UTC": ([one(DAYS, "RRULE:FREQ=DAILY;UNTIL=20260105T230000Z")], "01-05 08:00 01-06 08:00"),
    "days until the last second of one": ([one(DAYS, "RRULE:FREQ=DAILY;UNTIL=20260106T235959Z")], "01-05 08:00 01-06 08:00"),
    "midnights of a zone until one in UTC": ([one(MIDNIGHT, "RRULE:FREQ=DAILY;UNTIL=20260105T230000Z")], "01-05 08:00 01-06 08:00"),
    "midnights of a zone until right before one": ([one(MIDNIGHT, "RRULE:FREQ=DAILY;UNTIL=20260106T225959Z")], "01-05 08:00 01-06 08:00"),
    "STATUS:CANCELED": ([one(Z, DAILY), one("RECURRENCE-ID:20260106T090000Z", "STATUS:CANCELED")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "DATE with a midnight": ([one("DTSTART;VALUE=DATE:20260105T000000")], "01-05 08:00"),
    "DATE with a midnight in UTC": ([one("DTSTART;VALUE=DATE;X-A=1:20260105T000000Z")], "01-05 08:00"),
    "DATE-TIME at midnight": ([one("DTSTART;VALUE=DATE-TIME:20260105T000000Z")], "01-05 00:00"),
    "a day by Outlook's property, in UTC, east": ([one("DTSTART:20260104T230000Z", "DTEND:20260105T230000Z", ALL_DAY)], "01-05 08:00"),
    "a day by Outlook's property, in UTC, west": ([one("DTSTART:20260105T050000Z", "DTEND:20260106T050000Z", ALL_DAY)], "01-05 08:00"),
    "a day of 23 hours": ([one("DTSTART;TZID=Europe/Berlin:20260329T000000", "DTEND;TZID=Europe/Berlin:20260330T000000")], "03-29 07:00"),
    "a day of 25 hours": ([one("DTSTART;TZID=Europe/Berlin:20261025T000000", "DTEND;TZID=Europe/Berlin:20261026T000000")], "10-25 08:00"),
    "24 hours that are no day to Outlook": ([one("DTSTART:20260105T000000Z", "DTEND:20260106T000000Z", ALL_DAY.replace("TRUE", "FALSE"))], "01-05 00:00"),
    "a day to its last second": ([one("DTSTART:20260105T000000", "DTEND:20260105T235959")], "01-05 08:00"),
    "days to the last minute": ([one("DTSTART;TZID=Europe/Berlin:20260105T000000", "DTEND;TZID=Europe/Berlin:20260106T2359")], "01-05 08:00"),
    "an alarm at the end of a day without an end": ([one(DAYS, alarm("TRIGGER;RELATED=END:-PT2H"))], "01-05 21:00"),
    "a series with an alarm at one instant, which is over": ([one(Z, DAILY, alarm("TRIGGER;VALUE=DATE-TIME:20250103T120000Z"))], "01-05 09:00 01-06 09:00 01-07 09:00 01-08 09:00"),
    "one date with another title alone": ([one(Z, DAILY), one("RECURRENCE-ID:20260106T090000Z", "SUMMARY:Other")], "01-05 09:00 01-06 09:00 01-07 09:00 01-08 09:00"),
    "a later version cancels the series, with the date that was moved": ([one(Z, DAILY, "SEQUENCE:3", "STATUS:CANCELLED"), one("RECURRENCE-ID:20260106T090000Z", "DTSTART:20260106T150000Z", "SEQUENCE:2")], ""),
    "RDATE before the start": ([one(Z, "RRULE:FREQ=DAILY;COUNT=2", "RDATE:20260103T090000Z")], "01-03 09:00 01-05 09:00 01-06 09:00"),
    "EXDATE of the only date": ([one(Z, "EXDATE:20260105T090000Z")], ""),
    "EXDATE of another day than the only one": ([one(Z, "EXDATE;VALUE=DATE:20260106")], "01-05 09:00"),
    "UNTIL before the start": ([one(Z, "RRULE:FREQ=DAILY;UNTIL=20250101T000000Z")], ""),
    "a series with an alarm at one instant": ([one(Z, DAILY, alarm("TRIGGER;VALUE=DATE-TIME:20260103T120000Z"))], "01-03 12:00 01-05 09:00 01-06 09:00 01-07 09:00 01-08 09:00"),
}  # fmt: skip


BERLIN = "DTSTART;TZID=Europe/Berlin:"
CHANGE = f"{BERLIN}20260329T090000"
THREE = f"{BERLIN}20260328T090000\nRRULE:FREQ=DAILY;COUNT=3"
NIGHTS = f"{BERLIN}20260328T031500\nRRULE:FREQ=DAILY;COUNT=3"
FROM_28 = f"RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260328T090000\n{BERLIN}20260328T110000"
FOUR = f"{BERLIN}20260327T090000\nRRULE:FREQ=DAILY;COUNT=4"
# Hours pass, days are those of the clock, which changes on 29 March (RFC 5545, 3.3.6).
SERIES |= {
    "24 hours before, over a change of the clock": ([one(CHANGE, alarm("TRIGGER:-PT24H"))], "03-28 07:00"),
    "1,440 minutes before": ([one(CHANGE, alarm("TRIGGER:-PT1440M"))], "03-28 07:00"),
    "a day before": ([one(CHANGE, alarm("TRIGGER:-P1D"))], "03-28 08:00"),
    "a day and two hours before": ([one(CHANGE, alarm("TRIGGER:-P1DT2H"))], "03-28 06:00"),
    "24 hours after": ([one(f"{BERLIN}20260328T090000", alarm("TRIGGER:PT24H"))], "03-29 08:00"),
    "24 hours before a series": ([one(THREE, alarm("TRIGGER:-PT24H"))], "03-27 08:00 03-28 07:00 03-29 07:00"),
    "a day before a series": ([one(THREE, alarm("TRIGGER:-P1D"))], "03-27 08:00 03-28 08:00 03-29 07:00"),
    "a day and an hour before a series": ([one(THREE, alarm("TRIGGER:-P1DT1H"))], "03-27 07:00 03-28 07:00 03-29 06:00"),
    "24 hours after a series": ([one(THREE, alarm("TRIGGER:PT24H"))], "03-29 08:00 03-30 07:00 03-31 07:00"),
    "half an hour before a series at night": ([one(NIGHTS, alarm("TRIGGER:-PT30M"))], "03-28 01:45 03-29 00:45 03-30 00:45"),
    "a day before all later dates, which move": ([one(FOUR), one(FROM_28, alarm("TRIGGER:-P1D"))], "03-27 08:00 03-27 10:00 03-28 10:00 03-29 09:00"),
    "24 hours before all later dates, which move": ([one(FOUR), one(FROM_28, alarm("TRIGGER:-PT24H"))], "03-27 08:00 03-27 10:00 03-28 09:00 03-29 09:00"),
}  # fmt: skip
OLD = {
    "D1 #3": "01-05 09:00 01-06 09:00 01-07 09:00",
    "D2 20260110T000000Z": "01-05 09:00 01-07 09:00 01-09 09:00",
    "D1": "01-05 09:00 01-06 09:00",
    "W1 MO TU #4": "01-05 09:00 01-06 09:00 01-12 09:00 01-13 09:00",
    "W2 MO WE 20260121": "01-05 09:00 01-07 09:00 01-19 09:00 01-21 09:00",
    "MP1 1+ MO #3": "01-05 09:00 02-02 09:00 03-02 09:00",
    "MP1 1+ MO 2+ TU WE #4": "01-05 09:00 01-13 09:00 01-14 09:00 02-02 09:00",
    "MP2 1- MO #2": "01-05 09:00 01-26 09:00 03-30 09:00",
    "MP1 #2": "01-05 09:00 02-02 09:00",
    "MD1 5 15 #3": "01-05 09:00 01-15 09:00 02-05 09:00",
    "MD1 5 LD #3": "01-05 09:00 01-31 09:00 02-05 09:00",
    "YM1 1 7 #3": "01-05 09:00 07-05 09:00 01-05 09:00",
    "YD1 5 100 #2": "01-05 09:00 04-10 09:00",
    "YD1 #2": "01-05 09:00 01-05 09:00",
}


@pytest.mark.parametrize("rule", OLD)
def test_a_rule_of_vcalendar_1_0_is_read(rule: str) -> None:
    assert rings(one(Z, f"RRULE:{rule}")) == OLD[rule]


def test_a_rule_of_vcalendar_1_0_may_have_no_end_and_none_is_guessed() -> None:
    assert rings(one(Z, "RRULE:D1 #0"), most=3) == "01-05 09:00 01-06 09:00 01-07 09:00"
    assert "is not understood" in rings(one(Z, "RRULE:D1 0600 1200 #4"))


def test_alarms_that_are_not_taken_are_counted() -> None:
    alarms = [alarm(f"TRIGGER:-PT{minutes}M") for minutes in range(12)]
    result = found(file(one(Z, *alarms)))
    assert len(result.entries) == 10
    assert result.unfit == [("Dentist", "Of an event's alarms, the first ten are taken.")] * 2
    assert found(file(one(Z, *alarms)), uses_alarms=False).unfit == []
    assert found(file(one("DTSTART:20250105T090000Z", *alarms))).unfit == []


@pytest.mark.parametrize(
    ("parameters", "charset"),
    [(";ENCODING=BASE64;CHARSET=UTF-8", "utf-8"), (";BASE64", "utf-8"), (";CHARSET=ISO-8859-1;ENCODING=b", "latin-1")],
)
def test_a_text_may_be_in_base64(parameters: str, charset: str) -> None:
    title = base64.b64encode("Zahnärztin, A\\B".encode(charset)).decode()
    [entry] = found(file(f"UID:1\n{Z}\nSUMMARY{parameters}:{title}")).entries
    assert entry.title == "Zahnärztin, A\\B"


@pytest.mark.parametrize("why", SERIES)
def test_it_rings_as_the_file_means(why: str) -> None:
    events, expected = SERIES[why]
    assert rings(*events) == expected


NEW_YORK = "X-WR-TIMEZONE:America/New_York\r\n"


@pytest.mark.parametrize(
    ("start", "rule", "expected"),
    [
        ("20260307T140000Z", "FREQ=DAILY;BYHOUR=14,18;COUNT=4", "03-07 14:00 03-07 18:00 03-08 14:00 03-08 18:00"),
        ("20260306T010000Z", "FREQ=WEEKLY;BYDAY=TH;COUNT=2", "03-06 01:00 03-13 00:00"),
        ("20260306T010000Z", "FREQ=WEEKLY;BYDAY=FR;COUNT=2", "03-06 01:00 03-13 01:00"),
        ("20260306T010000Z", "FREQ=MONTHLY;BYMONTHDAY=6;COUNT=2", "03-06 01:00 04-06 01:00"),
        ("20260306T010000Z", "FREQ=MONTHLY;BYMONTHDAY=5;COUNT=2", "03-06 01:00 04-06 00:00"),
    ],
)
def test_a_series_in_utc_is_on_the_calendars_clock_if_its_rule_is(start: str, rule: str, expected: str) -> None:
    assert rings(one(f"DTSTART:{start}", f"RRULE:{rule}"), head=NEW_YORK) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("20260105T050000Z", "20260106T050000Z", "01-05 08:00"),
        ("20260307T050000Z", "20260309T040000Z", "03-07 08:00"),  # the clock changes
        ("20260105T050000Z", "20260105T170000Z", "01-05 05:00"),
        ("20260105T000000Z", "20260106T000000Z", "01-05 00:00"),
    ],
)
def test_a_day_of_the_calendars_clock_may_be_written_in_utc(start: str, end: str, expected: str) -> None:
    assert rings(one(f"DTSTART:{start}", f"DTEND:{end}"), head=NEW_YORK) == expected


@pytest.mark.parametrize(
    ("start", "end"), [("20260104T230000Z", "20260105T230000Z"), ("20260105T000000Z", "20260106T000000Z")]
)
def test_what_is_marked_as_a_day_is_one_on_any_clock(start: str, end: str) -> None:
    assert rings(one(f"DTSTART:{start}", f"DTEND:{end}", ALL_DAY), head=NEW_YORK) == "01-05 08:00"


def fixed(name: str, offset: str) -> str:
    return (
        f"BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:{offset}\r\n"
        f"TZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("X-WR-TIMEZONE:Eastern Standard Time\r\n", "01-05 14:00"),
        ('X-WR-TIMEZONE;VALUE=TEXT:"America/New_York"\r\n', "01-05 14:00"),
        (f"X-WR-TIMEZONE:Mine\r\n{fixed('Mine', '-0500')}", "01-05 14:00"),
        (f"X-WR-TIMEZONE:Mine\r\n{fixed('Mine', '+0513')}", "01-05 03:47"),
        ("X-WR-TIMEZONE:\r\n", "01-05 08:00"),
        ("TIMEZONE-ID:America/New_York\r\n", "01-05 14:00"),
        ("X-WR-TIMEZONE:Mars/Base\r\n", " !Its time zone “Mars/Base” is not known."),
    ],
)
def test_the_calendars_zone_may_be_any(head: str, expected: str) -> None:
    assert rings(one("DTSTART:20260105T090000"), head=head) == expected


def test_a_definition_counts_more_than_the_offset_in_its_name() -> None:
    dates = one("DTSTART;TZID=GMT+01:00:20260105T090000"), "UID:2\nDTSTART;TZID=GMT+01:00:20260705T090000"
    assert rings(*dates, head=vtimezone("GMT+01:00")) == "01-05 08:00 07-05 07:00"
    assert rings(*dates) == "01-05 08:00 07-05 08:00"


def calendar(event: str, head: str = "") -> str:
    return file(event).replace("VERSION:2.0\r\n", f"VERSION:2.0\r\n{head}")


SECOND = "UID:2\nSUMMARY:b\nDTSTART:20260106T090000"
CUSTOM = "DTSTART;TZID=Custom:20260105T090000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (calendar(one("DTSTART:20260105T090000"), NEW_YORK) + calendar(SECOND), "01-05 14:00 01-06 08:00"),
        (calendar(one(Z), "METHOD:CANCEL\r\n") + calendar(SECOND), "01-06 08:00"),
        (calendar(one(CUSTOM), fixed("Custom", "-0500")) + calendar(SECOND.replace(":2026", ";TZID=Custom:2026"), fixed("Custom", "+0900")), "01-05 14:00 01-06 00:00"),
        (calendar(one(CUSTOM)) + fixed("Custom", "-0500"), "01-05 14:00"),
        (calendar(one(Z)) + calendar(one(Z)), "01-05 09:00"),
    ],
    ids=range(5),
)  # fmt: skip
def test_each_of_several_calendars_in_a_file_has_its_own_zone_and_method(text: str, expected: str) -> None:
    assert said(found(text).entries) == expected


def test_a_task_and_an_event_of_one_uid_are_both_read() -> None:
    task = "BEGIN:VTODO\r\nUID:1\r\nDUE:20260106T090000Z\r\nEND:VTODO\r\nEND:VCALENDAR"
    assert said(found(file(one(Z, "SEQUENCE:2")).replace("END:VCALENDAR", task)).entries) == "01-05 09:00 01-06 09:00"


WHOLE = file(one(Z, "DESCRIPTION:größer äöü @"))


@pytest.mark.parametrize(
    ("raw", "title", "body"),
    [
        (file(one(Z)).replace("Dentist", "Dentist for\r\n  you").replace("\r\n", "\r\r\n"), "Dentist for you", ""),
        (file(one(Z)).replace("Dentist", "Fish &amp; Chips &#8211; now"), "Fish & Chips – now", ""),
        (file(one(Z)).replace("Dentist", "R&D; a&b"), "R&D; a&b", ""),
        (file(one(Z, "DESCRIPTION:Fish &amp; Chips&nbsp;now")), "Dentist", "Fish & Chips now"),
        (file(one(Z, "DESCRIPTION:a\\r\\nb\\nc\\\\r")), "Dentist", "a\nb\nc\\r"),
        (file(one(Z, "DESCRIPTION:&lt;p&gt;Hello &lt;b&gt;you&lt;/b&gt;&lt;/p&gt;")), "Dentist", "Hello you"),
        (WHOLE.encode().replace(b"@", b"\xe4"), "Dentist", "größer äöü \N{REPLACEMENT CHARACTER}"),
        (WHOLE.encode("latin-1"), "Dentist", "größer äöü @"),
    ],
    ids=range(8),
)
def test_text_is_read_as_it_is_meant(raw: str | bytes, title: str, body: str) -> None:
    [entry] = found(raw).entries
    assert (entry.title, entry.body.partition("\n\n")[2]) == (title, body)


QUOTED = "ENCODING=QUOTED-PRINTABLE"


@pytest.mark.parametrize(
    ("lines", "title", "body"),
    [
        ([f"SUMMARY;{QUOTED};CHARSET=UTF-8:Zahn=C3=A4rz=", "tin heute"], "Zahnärztin heute", ""),
        ([f"SUMMARY;{QUOTED};CHARSET=UTF-8:Zahn=C3=", "=A4rztin=", "", "LOCATION:Berlin"], "Zahnärztin", ", Berlin"),
        (["SUMMARY;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:Zahn=E4rztin"], "Zahnärztin", ""),
        ([f"SUMMARY;{QUOTED}:Zahn=E4rztin", f"LOCATION;{QUOTED.lower()}:B=FCro"], "Zahnärztin", ", Büro"),
        ([f"SUMMARY;CHARSET=SHIFT_JIS;{QUOTED}:=89=EF=8Bc"], "会議", ""),
        (["SUMMARY:a", f"DESCRIPTION;{QUOTED}:one =3D 1=0D=0A=", "two=0Athree=", "=20=", " four"], "a", "\n\none = 1\ntwo\nthree  four"),
        (["SUMMARY:a", f"URL;{QUOTED}:https://e.org/?a=3D1"], "a", "\n\nhttps://e.org/?a=1"),
        (["SUMMARY:a=C3=A4=", "URL:https://e.org/?a="], "a=C3=A4=", "\n\nhttps://e.org/?a="),
    ],
    ids=range(8),
)  # fmt: skip
def test_quoted_printable_text_is_read_as_vcalendar_1_writes_it(lines: list[str], title: str, body: str) -> None:
    event = "\n".join(("UID:1", Z, *lines))
    [entry] = found(file(event).replace("VERSION:2.0", "VERSION:1.0")).entries
    assert (entry.title, entry.body) == (title, f"At 10:00{body}")


def test_an_event_that_does_not_end_counts_where_the_calendar_does() -> None:
    text = file(one(Z), "UID:2\nDTSTART:20260106T090000Z").replace("END:VEVENT\r\n", "", 1)
    assert said(found(text).entries) == "01-05 09:00 01-06 09:00"


def test_no_value_of_an_event_has_a_character_that_a_database_cannot_hold() -> None:
    lines = ("SUMMARY:a\0", "LOCATION;ENCODING=QUOTED-PRINTABLE:a=00", "RRULE:FREQ=DAILY;B\0=1")
    events = read(file(one(f"DESCRIPTION:{'x' * 200}", Z, *lines)))
    assert "\\u0000" not in json.dumps(EVENTS.dump_python(events))


SLOPPY = {
    "an end that is empty": ([one(Z, "DTEND:")], "01-05 09:00"),
    "an end that is none": ([one("DTSTART:20260105T000000Z", "DTEND:None")], "01-05 00:00"),
    "an alarm before an end that is none": ([one(Z, "DTEND:None", alarm("TRIGGER;RELATED=END:-PT15M"))], "01-05 08:45"),
    "an empty RECURRENCE-ID": ([one(Z, "RECURRENCE-ID:")], "01-05 09:00"),
    "EXDATE without dates": ([one(Z, DAILY, "EXDATE:None", "EXDATE:20260106T090000Z,undefined")], "01-05 09:00 01-07 09:00 01-08 09:00"),
    "EXDATE as a midnight leaves out the time of that day": ([one(BERLIN_9, DAILY, "EXDATE:20260106T000000,20260107T000000Z")], "01-05 08:00 01-08 08:00"),
    "a date that a midnight names": ([one(BERLIN_9, DAILY), one("RECURRENCE-ID:20260106T000000", "DTSTART:20260106T150000Z")], "01-05 08:00 01-06 15:00 01-07 08:00 01-08 08:00"),
    "EXDATE as a midnight that is one of the times": ([one(Z, "RRULE:FREQ=HOURLY;INTERVAL=5;COUNT=5", "EXDATE:20260106T000000Z")], "01-05 09:00 01-05 14:00 01-05 19:00 01-06 05:00"),
    "EXDATE as a midnight of several times": ([one(Z, "RRULE:FREQ=DAILY;BYHOUR=0,9;COUNT=4", "EXDATE:20260106T000000Z")], "01-05 09:00 01-06 09:00 01-07 00:00"),
    "EXDATE in UTC of a time that is a midnight there": ([one("DTSTART;TZID=America/New_York:20260105T190000", DAILY, "EXDATE:20260107T000000Z")], "01-06 00:00 01-08 00:00 01-09 00:00"),
    "empty parts of a rule": ([one(Z, "RRULE:FREQ=WEEKLY;INTERVAL=;BYDAY=;WKST=;COUNT=2")], "01-05 09:00 01-12 09:00"),
    "a list in two parts": ([one(Z, "RRULE:FREQ=WEEKLY;BYDAY=MO;BYDAY=TU;COUNT=3")], "01-05 09:00 01-06 09:00 01-12 09:00"),
    "weeks of the year on the day of the start": ([one(Z, "RRULE:FREQ=YEARLY;BYWEEKNO=2,10;COUNT=3")], "01-05 09:00 03-02 09:00 01-11 09:00"),
    "a rule that names itself": ([one(Z, "RRULE:RRULE:FREQ=DAILY;COUNT=2")], "01-05 09:00 01-06 09:00"),
    "numbered days of weeks": ([one(Z, "RRULE:FREQ=WEEKLY;BYDAY=1MO,-1TU;COUNT=3")], "01-05 09:00 01-06 09:00 01-12 09:00"),
    "the end of a day": ([one("DTSTART:20260105T240000Z")], "01-06 00:00"),
    "a day until its end": ([one("DTSTART:20260105T000000", "DTEND:20260105T240000")], "01-05 08:00"),
    "no time of any day": ([one("DTSTART:20260105T250000Z")], " !Its date is not in the calendar."),
    "a space between": ([one("DTSTART;TZID=Europe/Berlin:2026-01-05 09:00:00")], "01-05 08:00"),
    "an offset in hours": ([one("DTSTART:20260105T090000+01")], "01-05 08:00"),
    "an alarm as Java writes lengths": ([one(Z, alarm("TRIGGER:PT-15M"), alarm("TRIGGER:PT-1H-30M"))], "01-05 07:30 01-05 08:45"),
    "an alarm as ISO 8601 writes lengths": ([one(Z, alarm("TRIGGER:-P0Y0M0DT0H15M0.0S"))], "01-05 08:45"),
    "a zone in small signs": ([one("DTSTART;TZID=Europe%2FBerlin:20260105T090000"), "UID:2\nDTSTART;TZID=US-Eastern:20260105T090000"], "01-05 08:00 01-05 14:00"),
    "a zone with escapes": ([one("DTSTART;TZID=America\\/New_York:20260105T090000"), 'UID:2\nDTSTART;TZID="(GMT+01:00) Bern\\, Rome":20260106T090000'], "01-05 14:00 01-06 08:00"),
    "a zone by its city": ([one("DTSTART;TZID=Kolkata:20260105T090000")], "01-05 03:30"),
    "Outlook's words for UTC": ([one('DTSTART;TZID="(UTC) Coordinated Universal Time":20260105T090000')], "01-05 09:00"),
}  # fmt: skip


@pytest.mark.parametrize("why", SLOPPY)
def test_what_is_written_carelessly_is_read_as_it_is_meant(why: str) -> None:
    events, expected = SLOPPY[why]
    assert rings(*events) == expected


@pytest.mark.parametrize(
    "lines", ["TZOFFSETTO:+0100", "TZOFFSETFROM:+01:00\r\nTZOFFSETTO:+01:00"], ids=["no former offset", "a colon"]
)
def test_a_zone_may_be_defined_carelessly(lines: str) -> None:
    zone = f"BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n{lines}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    assert rings(one("DTSTART;TZID=X:20260105T090000"), head=zone) == "01-05 08:00"


def test_line_ends_of_a_text_that_are_not_escaped_end_no_property_and_hide_none() -> None:
    text = file(f"UID:1\nDESCRIPTION:Bring:\n\nthe form\nSummary: none\nBegin: nine\nEnd: ten\nSUMMARY:Dentist\n{Z}")
    [entry] = found(text).entries
    assert (entry.title, entry.body.split("\n\n", 1)[1]) == (
        "Dentist",
        "Bring:\n\nthe form\nSummary: none\nBegin: nine\nEnd: ten",
    )


def test_more_escapes_than_the_standard_has_are_read() -> None:
    [entry] = found(file(f'UID:1\n{Z}\nSUMMARY:9\\:30 \\"Call\\" Ann\\, Bob')).entries
    assert entry.title == '9:30 "Call" Ann, Bob'


@pytest.mark.parametrize("until", ["99991231T235959Z", "99991231", "None"])
def test_an_end_that_never_comes_is_none(until: str) -> None:
    assert rings(one(Z, f"RRULE:FREQ=WEEKLY;UNTIL={until}"), most=2) == "01-05 09:00 01-12 09:00"


def test_the_fifth_sunday_of_a_zones_rule_is_the_last() -> None:
    zone = vtimezone("X").replace("BYDAY=-1SU", "BYDAY=5SU")
    assert "5SU" in zone
    dates = one("DTSTART;TZID=X:20260105T090000"), "UID:2\nDTSTART;TZID=X:20260705T090000"
    assert rings(*dates, head=zone) == "01-05 08:00 07-05 07:00"
