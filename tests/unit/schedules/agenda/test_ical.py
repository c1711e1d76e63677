"""A written calendar keeps to RFC 5545: a reader finds what was written, whatever the texts hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from schedules.agenda import ical
from schedules.agenda.ical import Event
from schedules.job_kinds import calendar_file

AT = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def written(title: str) -> str:
    event = Event("one@example.org", AT, timedelta(minutes=15), AT, title, "https://example.org/reminders/1/")
    return ical.write("Carillon", [event], timedelta(hours=1))


def read(title: str) -> list[calendar_file.FileEvent]:
    return calendar_file.read(written(title).encode(), "text/calendar; charset=utf-8", AT)[0]


def test_a_reader_finds_what_was_written() -> None:
    [event] = read("Pay, at last; the rent\\ \n“Miete”")
    assert (event.uid, event.title) == ("one@example.org", "Pay, at last; the rent\\ \n“Miete”")
    assert event.start == calendar_file.Moment("20261025T003000", "UTC")
    assert event.url == "https://example.org/reminders/1/"


def test_lines_are_folded_at_75_octets_and_never_within_a_character() -> None:
    title = "Müllabfuhr 🗑 und so weiter, " * 20
    text = written(title)
    lines = text.encode().split(b"\r\n")
    assert max(map(len, lines)) <= 75
    assert [line.decode() for line in lines]
    assert read(title)[0].title == title.strip()


def test_a_text_cannot_add_a_line() -> None:
    text = written("Rent\r\nEND:VEVENT\rBEGIN:VALARM\x00\x0b\u2028x")
    assert text.count("\r\nEND:VEVENT\r\n") == 1
    assert text.replace("\r\n", "").isprintable()


def test_it_says_how_often_it_is_to_be_read() -> None:
    assert "REFRESH-INTERVAL;VALUE=DURATION:PT60M\r\n" in written("Rent")
