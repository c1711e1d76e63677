"""Which reminders follow from a calendar's file, at a moment."""

from __future__ import annotations

import json
import time as clock
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from common.parsing.budget import Budget, OverBudget
from common.parsing.pool import parsed
from jobs.checks.results import not_taken
from jobs.kinds.base import Ask, Nothing, Say
from jobs.reading import feeds
from schedules.job_kinds import calendar_file
from schedules.job_kinds.calendar_events import ReminderTimes, Wanted, wanted
from schedules.job_kinds.calendar_file import FileEvent
from schedules.job_kinds.calendar_sync import EVENTS, MOST, CalendarSync

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KIND = CalendarSync()


def file(*events: str) -> str:
    body = "".join(
        f"BEGIN:VEVENT\r\n{event.strip().replace(chr(10), chr(13) + chr(10))}\r\nEND:VEVENT\r\n" for event in events
    )
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}END:VCALENDAR\r\n"


def read(text: str | bytes) -> list[FileEvent]:
    return calendar_file.read(text.encode() if isinstance(text, str) else text, "", NOW)[0]


def event(uid: str = "1", start: str = "DTSTART:20260105T090000Z", *more: str) -> str:
    return "\n".join([f"UID:{uid}", start, "SUMMARY:Dentist", *more])


def found(*events: str, now: datetime = NOW, minutes: int = 10, alarms: bool = True) -> Wanted:
    times = ReminderTimes(before=timedelta(minutes=minutes), uses_alarms=alarms, all_day_at=time(9))
    return wanted(read(file(*events)), times, BERLIN, now, Budget(seconds=10))


def slots(*events: str, **overrides: Any) -> list[str]:
    return [f"{entry.next_slot:%Y-%m-%d %H:%M}" for entry in found(*events, **overrides).entries]


@pytest.mark.parametrize(
    ("start", "slot"),
    [
        ("DTSTART:20260105T090000Z", "2026-01-05 08:50"),
        ("DTSTART;TZID=Europe/Berlin:20260105T090000", "2026-01-05 07:50"),
        ("DTSTART;TZID=America/New_York:20260105T090000", "2026-01-05 13:50"),
        ('DTSTART;TZID="W. Europe Standard Time":20260105T090000', "2026-01-05 07:50"),
        ("DTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20260105T090000", "2026-01-05 07:50"),
        ("DTSTART:20260105T090000", "2026-01-05 07:50"),
        ("DTSTART;VALUE=DATE:20260105", "2026-01-05 08:00"),
        # The clock skips 02:30: the event begins right after the gap.
        ("DTSTART;TZID=Europe/Berlin:20260329T023000", "2026-03-29 00:50"),
    ],
)
def test_an_event_has_its_reminder_before_it_in_whatever_zone(start: str, slot: str) -> None:
    assert slots(event("1", start)) == [slot]


@pytest.mark.parametrize("rule", ["RRULE:\0", "RRULE:FREQ=DAILY\0", "RRULE:FREQ=DAILY;\0X=1", "EXDATE:\x000260106"])
def test_a_nul_in_a_rule_is_said_and_stops_no_other_event(rule: str) -> None:
    result = found(event("1", "DTSTART:20260105T090000Z", rule), event("2"))
    assert (len(result.entries), [title for title, _ in result.unfit]) == (1, ["Dentist"])


def test_an_unknown_zone_is_said_and_not_guessed() -> None:
    result = found(event("1", "DTSTART;TZID=Mars/Base:20260105T090000"))
    assert (result.entries, result.unfit) == ([], [("Dentist", "Its time zone “Mars/Base” is not known.")])


@pytest.mark.parametrize(
    ("trigger", "slot"),
    [
        ("TRIGGER:-PT1H", "2026-01-05 08:00"),
        ("TRIGGER;RELATED=START:-P1DT2H", "2026-01-04 07:00"),
        ("TRIGGER:PT0S", "2026-01-05 09:00"),
        ("TRIGGER;RELATED=END:-PT5M", "2026-01-05 08:55"),
        ("TRIGGER;VALUE=DATE-TIME:20260104T120000Z", "2026-01-04 12:00"),
    ],
)
def test_an_events_own_alarm_counts_where_wanted(trigger: str, slot: str) -> None:
    alarm = f"BEGIN:VALARM\n{trigger}\nEND:VALARM"
    dentist = event("1", "DTSTART:20260105T090000Z", alarm)
    assert slots(dentist) == [slot]
    assert slots(dentist, alarms=False) == ["2026-01-05 08:50"]


def test_what_repeats_is_carried_by_a_rule_before_it() -> None:
    weekly = event(
        "1",
        "DTSTART;TZID=Europe/Berlin:20260105T090000",
        "RRULE:FREQ=WEEKLY;UNTIL=20260119T080000Z;BYDAY=MO",
        "EXDATE;TZID=Europe/Berlin:20260112T090000",
    )
    [entry] = found(weekly).entries
    assert entry.rule["rule"].splitlines() == [
        "DTSTART:20260105T085000",
        "RRULE:FREQ=WEEKLY;UNTIL=20260119T075000Z;BYDAY=MO",
        "EXDATE:20260112T085000",
    ]
    assert slots(weekly, now=datetime(2026, 1, 6, tzinfo=UTC)) == ["2026-01-19 07:50"]
    assert slots(weekly, now=datetime(2026, 1, 20, tzinfo=UTC)) == []


def test_a_moved_date_of_what_repeats_has_a_reminder_of_its_own() -> None:
    weekly = event("1", "DTSTART:20260105T090000Z", "RRULE:FREQ=WEEKLY;COUNT=2")
    moved = event("1", "DTSTART:20260113T100000Z", "RECURRENCE-ID:20260112T090000Z")
    assert slots(weekly, moved) == ["2026-01-05 08:50", "2026-01-13 09:50"]
    assert slots(weekly, moved, now=datetime(2026, 1, 6, tzinfo=UTC)) == ["2026-01-13 09:50"]


def test_a_reminder_on_the_day_before_follows_the_rule_from_date_to_date() -> None:
    monday = event("1", "DTSTART;TZID=Europe/Berlin:20260105T000500", "RRULE:FREQ=WEEKLY;BYDAY=MO")
    [entry] = found(monday).entries
    assert (entry.kind, entry.repeats) == ("rrule", True)
    assert slots(monday) == ["2026-01-04 22:55"]
    assert slots(monday, now=datetime(2026, 1, 4, 22, 55, tzinfo=UTC)) == ["2026-01-11 22:55"]


def test_one_bad_event_stops_no_other_and_is_named() -> None:
    result = found(
        event("1", "DTSTART:nonsense"),
        event("2", "DTSTART:20260105T090000Z", "RRULE:FREQ=SECONDLY"),
        event("3", "DTSTART:20260230T090000Z"),
        event("4"),
    )
    assert len(result.entries) == 1
    assert len(result.unfit) == 3


def test_cancelled_and_past_events_have_none() -> None:
    assert slots(event("1", "DTSTART:20260105T090000Z", "STATUS:CANCELLED")) == []
    assert slots(event("1", "DTSTART:20250105T090000Z")) == []


def test_words_are_data() -> None:
    [entry] = found("UID:1\nDTSTART:20260105T090000Z\nSUMMARY:{name}\\, see\n  you\nLOCATION:Room 5").entries
    assert (entry.title, entry.body) == ("{ name }, see you", "At 10:00, Room 5")


def test_a_time_of_another_zone_is_on_the_readers_clock_or_names_it() -> None:
    once = "UID:1\nDTSTART;TZID=America/New_York:20260105T090000"
    [entry] = found(once).entries
    assert (entry.body, entry.time_zone) == ("At 15:00", "America/New_York")
    [entry] = found(f"{once}\nRRULE:FREQ=WEEKLY\nLOCATION:Room 5").entries
    assert entry.body == "At 09:00, New York time, Room 5"
    [entry] = found("UID:1\nDTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=WEEKLY").entries
    assert entry.body == "At 09:00"


@pytest.mark.parametrize("text", ["", "<html>", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1", "END:VCALENDAR"])
def test_half_an_answer_is_no_calendar(text: str) -> None:
    with pytest.raises(calendar_file.NotACalendar):
        read(text)
    assert read(file()) == []


def test_hostile_rules_share_a_budget_and_stop_no_plain_event() -> None:
    costly = [
        event(str(number), "DTSTART:20250105T090000Z", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30")
        for number in range(calendar_file.MOST - 1)
    ]
    began = clock.process_time()
    assert len(found(*costly, event("good", "DTSTART:20260105T090000Z")).entries) == 1
    assert clock.process_time() - began < 10


# What a check makes of it, from what the last one left.


def ask(memory: Any = None, now: datetime = NOW, **payload: Any) -> Ask:
    asked = {"minutes": 10, "all_day_at": "09:00"} | payload
    return Ask(user_id=1, origin_id=UUID(int=1), zone=BERLIN, slot=now, now=now, payload=asked, memory=memory)


def decided(count: int | list[int], memory: Any = None, now: datetime = NOW, **payload: Any) -> Say | Nothing:
    uids = range(count) if isinstance(count, int) else count
    text = file(*(event(str(uid), f"DTSTART:202602{uid % 28 + 1:02}T090000Z") for uid in uids))
    value = {"events": EVENTS.dump_python(read(text)), "dropped": 0}
    return KIND.decide(ask(memory, now, **payload), value)


def counted(decision: Say | Nothing) -> tuple[int, ...]:
    return tuple(decision.reason.params[name] for name in ("count", "new", "changed", "ended"))


def test_a_second_check_changes_nothing() -> None:
    first = decided(10)
    second = decided(10, first.memory)
    assert (counted(first), counted(second)) == ((10, 10, 0, 0), (10, 0, 0, 0))
    assert (second.memory, second.effect) == (first.memory, None)


def test_most_of_the_events_gone_end_only_after_a_second_check() -> None:
    first = decided(10)
    second = decided(4, first.memory)
    assert (second.reason.code, second.effect) == ("calendar-many-gone", None)
    assert counted(decided(10, second.memory)) == (10, 0, 0, 0)
    other = decided(3, second.memory)
    assert other.reason.code == "calendar-many-gone"
    third = decided(3, other.memory)
    assert (counted(third), third.effect is not None) == ((3, 0, 0, 7), True)


def test_an_empty_calendar_ends_nothing_at_first() -> None:
    assert decided(0, decided(10).memory).effect is None


def test_few_events_gone_end_at_once() -> None:
    assert counted(decided(8, decided(10).memory)) == (8, 0, 0, 2)


def test_what_is_over_is_not_gone_and_its_reminder_is_removed_a_week_later() -> None:
    first = decided(2)
    later = decided([], first.memory, datetime(2026, 2, 3, tzinfo=UTC))
    assert counted(later) == (0, 0, 0, 0)
    assert later.effect is None
    last = decided([], later.memory, datetime(2026, 2, 20, tzinfo=UTC))
    assert (counted(last), last.memory["events"], last.effect is not None) == ((0, 0, 0, 0), {}, True)


def test_reminders_are_for_the_first_500_events_and_it_says_so() -> None:
    decision = decided(MOST + 3)
    assert counted(decision)[0] == MOST
    assert "3 more are left out" in str(decision.reason)


def test_it_tells_what_is_new_only_where_wanted() -> None:
    assert isinstance(decided(3), Nothing)
    said = decided(3, tell=True)
    assert isinstance(said, Say)
    assert (said.words["new"], said.words["events"]) == ("3", "New: Dentist\n" * 3)
    assert isinstance(decided(3, said.memory, tell=True), Nothing)


def test_a_change_of_a_date_that_the_series_leaves_out_since_does_not_ring() -> None:
    series = event("1", "DTSTART:20260105T090000Z", "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE:20260112T090000Z")
    moved = event("1", "DTSTART:20260113T090000Z", "RECURRENCE-ID:20260112T090000Z", "SEQUENCE:2")
    assert slots(f"{series}\nSEQUENCE:3", moved) == ["2026-01-05 08:50"]
    assert slots(f"{series}\nSEQUENCE:1", moved) == ["2026-01-05 08:50", "2026-01-13 08:50"]


def test_a_change_of_a_date_rings_once_although_it_repeats_the_rule_of_its_series() -> None:
    weekly = "RRULE:FREQ=WEEKLY;COUNT=3"
    result = found(
        event("1", "DTSTART:20260105T090000Z", weekly),
        event("1", "DTSTART:20260112T100000Z", "RECURRENCE-ID:20260112T090000Z", weekly),
        event("1", "DTSTART:20260112T100000Z", "RECURRENCE-ID:20260112T090000Z", weekly),
    )
    moved = [entry for entry in result.entries if entry.kind == "once"]
    assert [f"{entry.next_slot:%d %H:%M}" for entry in moved] == ["12 09:50"]
    assert [entry.rule["rule"].count("EXDATE:20260112") for entry in result.entries if entry.repeats] == [1]


def test_a_change_without_its_series_repeats_by_its_own_rule_from_its_own_start() -> None:
    alone = found(event("1", "DTSTART:20260112T090000Z", "RECURRENCE-ID:20260112T090000Z", "RRULE:FREQ=WEEKLY"))
    assert [(f"{entry.next_slot:%d %H:%M}", entry.repeats) for entry in alone.entries] == [("12 08:50", True)]


def test_events_without_a_calendar_around_them_are_read_if_they_are_whole() -> None:
    alone = "\n".join(file(event("1"), event("2")).splitlines()[2:-1])
    assert [one.uid for one in read(alone)] == ["1", "2"]
    for cut in (alone[:-3], alone[:-20], "", "<html>BEGIN:VEVENT</html>"):
        with pytest.raises(calendar_file.NotACalendar):
            read(cut)


@pytest.mark.parametrize(
    ("first", "later", "tells"),
    [
        ([event()], [], True),
        ([event("1", "DTSTART:20250105T090000Z")], [event("1", "DTSTART:20250105T090000Z")], True),
        ([event("1", "DTSTART:nonsense")], [event("1", "DTSTART:nonsense")], True),
        ([], [], False),
        ([event("1", "DTSTART:20270105T090000Z")], [event("1", "DTSTART:20270105T090000Z")], False),
    ],
)
def test_a_calendar_that_brings_nothing_for_long_says_so_once_unless_it_is_empty_from_the_start(
    first: list[str], later: list[str], tells: bool
) -> None:
    told, memory = [], None
    for day in (0, 10, 11, 20, 39, 40, 41, 42, 60):
        events = read(file(*(first if day < 10 else later)))
        value = {"events": EVENTS.dump_python(events), "dropped": 0}
        decision = KIND.decide(ask(memory, NOW + timedelta(days=day)), value)
        assert isinstance(decision, Nothing)
        if decision.silent_since:
            told.append(day)
        memory = json.loads(json.dumps(decision.memory))
    assert len(told) == tells


def test_what_is_not_taken_is_counted_with_each_cause() -> None:
    text = file(
        event("1"),
        event("2", "DTSTART;TZID=Mars/Base:20260105T090000"),
        event("3", "DTSTART;TZID=Mars/Base:20260106T090000"),
        event("4", "DTSTART:nonsense"),
    )
    value = {"events": EVENTS.dump_python(read(text)), "dropped": 7}
    reason = KIND.decide(ask(), value).reason
    said = str(reason)
    assert [(one["cause"], one["count"], one["example"]) for one in not_taken(reason.params)] == [
        ("Its time zone “Mars/Base” is not known.", 2, "Dentist"),
        ("Its date is not in the calendar.", 1, "Dentist"),
        ("Reminders are kept for the first 500 alone; 7 more are left out.", 7, ""),
    ]
    assert not_taken({"listed": "text", "then": []}) == not_taken(None) == []
    assert "1 event to come" in said
    assert (
        "3 not taken: 2 × Its time zone “Mars/Base” is not known (“Dentist”); 1 × Its date is not in the calendar ("
        in said
    )
    assert "7 more are left out" in said


def test_many_series_of_one_uid_with_as_many_changes_cost_no_square() -> None:
    """Each series would leave out each changed date: a million dates. A budget bounds all of them together."""
    series = [
        event("1", f"DTSTART:202601{n % 28 + 1:02}T{n % 24:02}{n % 60:02}00Z", "RRULE:FREQ=DAILY") for n in range(1_000)
    ]
    moved = [
        event("1", "DTSTART:20260301T090000Z", f"RECURRENCE-ID:2026{n % 12 + 1:02}{n % 28 + 1:02}T{n % 24:02}0000Z")
        for n in range(1_000)
    ]
    result = found(*series, *moved)
    assert sum(len(entry.rule.get("rule", "")) for entry in result.entries) < 1_000_000
    assert any("more than" in why for _, why in result.unfit)


def test_hostile_calendars_and_feeds_end_by_their_limits_and_cost_nobody_else_the_child() -> None:
    lines = "BEGIN:VEVENT\r\nEND:VEVENT\r\n" * 300_000
    flood = f"BEGIN:VCALENDAR\r\n{lines}END:VCALENDAR\r\n".encode()
    with pytest.raises(OverBudget):
        parsed(calendar_file.read, flood, "", NOW)
    bomb = '<!DOCTYPE rss [<!ENTITY a "xxxxxxxxxx">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
    )
    with pytest.raises(feeds.NotAFeed):
        parsed(feeds.read, f"{bomb}]><rss><item><title>&j;</title></item></rss>".encode(), "text/xml", "http://a.test/")
    assert len(parsed(calendar_file.read, file(event("1")).encode(), "", NOW)[0]) == 1


def test_a_rule_that_never_matches_costs_its_own_event_alone() -> None:
    never = event("1", "DTSTART:20260105T090000Z", "RRULE:FREQ=YEARLY;BYWEEKNO=30;BYMONTH=1;BYDAY=MO")
    events = parsed(calendar_file.read, file(never, event("2")).encode(), "", NOW)[0]
    result = wanted(
        events,
        ReminderTimes(before=timedelta(0), uses_alarms=True, all_day_at=time(9)),
        BERLIN,
        NOW,
        Budget(seconds=10),
    )
    assert "2026-01-05 09:00" in [f"{entry.next_slot:%Y-%m-%d %H:%M}" for entry in result.entries]
    assert [one.uid for one in events] == ["1", "2"]


@pytest.mark.parametrize(
    ("charset", "title"),
    [
        ("iso-8859-2", "Święto"),
        ("windows-1250", "Zażółć"),
        ("shift_jis", "会議"),
        ("euc-jp", "会議"),
        ("utf-16", "会議"),
    ],
)
def test_a_short_calendar_is_read_by_the_charset_that_its_header_names(charset: str, title: str) -> None:
    raw = file(event("1").replace("Dentist", title)).encode(charset)
    [one] = parsed(calendar_file.read, raw, f"text/calendar; charset={charset}", NOW)[0]
    assert one.title == title


def test_html_in_a_title_becomes_text() -> None:
    [entry] = found(
        "UID:1\nDTSTART:20260105T090000Z\nSUMMARY:<p>Lunch <b>with</b> Bo</p> &amp\\; Di\nLOCATION:a < b"
    ).entries
    assert entry.title.startswith("Lunch with Bo")
