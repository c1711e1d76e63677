"""One line as a reminder: tables of lines, the nights of clock changes, and lines made at random."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from django.utils.translation import override

from schedules.inputs.quick_add import Reading, fields
from schedules.inputs.sentences import NotUnderstood, read
from schedules.inputs.sentences.hints import HINTS
from schedules.inputs.sentences.pieces import lexicon
from schedules.inputs.timing_form import TimingForm
from schedules.rules import InvalidRule, civil, parse

HERE = Path(__file__).parent
WEDNESDAY = datetime(2026, 11, 18, 9, 7, 20, tzinfo=UTC)
BERLIN = "Europe/Berlin"
WORDS = """
every each other last first second 3rd 31st day week month year minutes hours in on at the of until from for times
except and to between 9 17 18:00 24:00 6pm 13pm 0 999999 half past quarter noon night morning tomorrow today tonight
next end 2026-12-24 31.02. 9999 1/2 UTC GMT+2 @daily daily weekly weekdays weekend time call Berlin , - " “x” ٣ ² ½ 一
"""


def table(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split(" | ")] for line in lines if not line.startswith("#")]


def said(line: str, language: str = "en") -> list[str]:
    """Title, fields and first slot, as in the table."""
    found = fields(read(line, WEDNESDAY, BERLIN, language))
    form = TimingForm(found, now=WEDNESDAY)
    assert form.is_valid(), (line, form.errors)
    assert form.timetable is not None
    slot = form.timetable.next_after(WEDNESDAY)
    assert slot is not None
    found = Reading(found).shown
    title, kind, zone = found.pop("title", ""), found.pop("kind"), found.pop("time_zone")
    if zone != BERLIN:
        found["zone"] = zone
    return [
        title,
        " ".join([kind, *shown(kind, found)]),
        f"{slot.astimezone(form.timetable.rule.zone):%a %Y-%m-%d %H:%M}",
    ]


def shown(kind: str, found: dict[str, Any]) -> list[str]:
    if kind == "monthly":
        del found["month"]
    found = {
        name: value for name, value in found.items() if value not in ("", None) and (name, value) != ("short", "last")
    }
    return [
        f"{name}={','.join(value) if isinstance(value, list) else value}".replace(" ", "_")
        for name, value in found.items()
    ]


def test_each_line_means_what_the_table_says() -> None:
    rows = table("understood.txt")
    assert len(rows) >= 200
    assert [[line, *said(line)] for line, *_ in rows] == rows


@pytest.mark.parametrize(("name", "language"), [("german.txt", "de"), ("spanish.txt", "es")])
def test_each_line_of_another_language_means_what_its_table_says(name: str, language: str) -> None:
    rows = table(name)
    assert len(rows) >= 50
    assert [[line, *said(line, language)] for line, *_ in rows] == rows


@pytest.mark.parametrize("language", ["de", "es"])
def test_english_is_understood_beside_another_language(language: str) -> None:
    """As by the buttons for once, and by who is used to it. Not so "9 am", which is German too."""
    rows = [row for row in table("understood.txt") if " am " not in f"{row[0]} " and " a.m." not in row[0]]
    assert [[line, *said(line, language)] for line, *_ in rows] == rows


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("jeden zweiten Freitag Essen", "which", "zweiten Freitag"),
        ("jeden Monat am Freitag", "which-weekday", "Freitag"),
        ("letzter Freitag Bier", "past", "Freitag"),
        ("vor Freitag Bericht", "relative", "vor Freitag"),
        ("Webinar Freitag 9 Uhr New Yorker Zeit", "zone", "New"),
        ("32. Dezember Feier", "date", "32. Dezember"),
        ("Mama anrufen", "nothing", "Mama anrufen"),
    ],
)
def test_a_hint_repeats_the_words_as_they_were_written(line: str, code: str, words: str) -> None:
    with override("de"), pytest.raises(NotUnderstood) as caught:
        read(line, WEDNESDAY, BERLIN, "de")
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("line", "language", "word"),
    [
        ("jeden zweiten Dienstag 9:00 Miete", "en", "jeden"),
        ("cena cada martes 9:00", "en", "cada"),
        ("martes 9:00 cena", "de", "martes"),
        ("Miete montags 9:00", "es", "montags"),
    ],
)
def test_a_time_of_another_language_is_no_title(line: str, language: str, word: str) -> None:
    with override(language), pytest.raises(NotUnderstood) as caught:
        read(line, WEDNESDAY, BERLIN, language)
    assert caught.value.code == "rest" and word in str(caught.value)


@pytest.mark.parametrize(
    ("line", "language"),
    [
        *(
            (line, "de")
            for line in (
                "Müll an Feiertagen 8 Uhr",
                "Anruf ca. 17 Uhr morgen",
                "jeden Montag zehnmal 9 Uhr Kurs",
                "jeden Freitag 24 Uhr Kino",
                "heute in acht Tagen Kino",
                "Rezept abholen bis 18 Uhr Montag",
                "webinar 9:00 Europa/Berlin",
            )
        ),
        *((line, "es") for line in ("basura mar. 9:00", "basura a las 9 hora de Londres")),
        *((line, "es") for line in ("llamar a las 12 de la mañana", "llamar mañana a las 9 aprox")),
        *(
            (line, "es")
            for line in (
                "llamar a eso de las 17:00",
                "informe final de mes",
                "lunes por medio basura",
                "reunión cada lunes alterno a las 10",
            )
        ),
    ],
)
def test_days_and_zones_that_are_not_understood_do_not_become_words_of_the_title(line: str, language: str) -> None:
    with pytest.raises(NotUnderstood):
        read(line, WEDNESDAY, BERLIN, language)


@pytest.mark.parametrize(
    ("line", "language"),
    [("every 2nd tuesday rent", "en"), ("jeden zweiten Freitag Essen", "de"), ("cada segundo viernes cena", "es")],
)
def test_both_meanings_that_a_hint_offers_are_understood(line: str, language: str) -> None:
    with override(language), pytest.raises(NotUnderstood) as caught:
        read(line, WEDNESDAY, BERLIN, language)
    _, *offered = re.findall(r"[“„«]([^“”„»]+)[”“»]", str(caught.value))
    assert len(offered) == 2
    for one in offered:
        with override(language):
            assert not isinstance(read(f"{one} 9:00 Test", WEDNESDAY, BERLIN, language).timing, datetime)


@pytest.mark.parametrize("language", ["de", "es"])
def test_whole_examples_in_hints_are_understood_in_their_language(language: str) -> None:
    with override(language):
        examples = re.findall(
            r"[„«]([^“»{]+)[“»]", " ".join(str(HINTS[code]) for code in ("empty", "nothing", "vague"))
        )
    assert len(examples) >= 6
    for example in examples:
        read(example, WEDNESDAY, BERLIN, language)


def test_each_line_that_is_not_understood_is_refused_with_a_hint() -> None:
    rows = table("refused.txt")
    assert len(rows) >= 50
    for line, code, *language in rows:
        with pytest.raises((NotUnderstood, InvalidRule)) as caught:
            read(line, WEDNESDAY, BERLIN, *language)
        assert getattr(caught.value, "code", "zone") == code, line
        # What is wrong, and what would be right.
        assert len(str(caught.value)) > 30, line
        assert "{" not in str(caught.value), line


@pytest.mark.parametrize(("line", "meant"), [("manyana 9:00 cita", "mañana"), ("miércles 9:00 cita", "miércoles")])
def test_a_misspelt_word_is_shown_as_it_is_written(line: str, meant: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        read(line, WEDNESDAY, BERLIN, "es")
    assert caught.value.code == "typo" and meant in str(caught.value)


def test_what_may_mean_two_things_is_asked() -> None:
    for language, line, code, *choices in table("asked.txt"):
        with pytest.raises(NotUnderstood) as caught:
            read(line, WEDNESDAY, BERLIN, language)
        assert [caught.value.code, *(choice for _name, choice in caught.value.choices)] == [code, *choices], line
        for choice in choices:
            read(choice, WEDNESDAY, BERLIN, language)


def test_a_time_without_its_half_of_the_day_is_named_in_both() -> None:
    with pytest.raises(NotUnderstood, match="Write it as 06:40 or 18:40"):
        read("flight tomorrow 6:40", WEDNESDAY, BERLIN)


def test_a_weekday_that_is_today_may_be_in_a_week() -> None:
    early = WEDNESDAY.replace(hour=6)
    with pytest.raises(NotUnderstood) as caught:
        read("call on Wednesday", early, BERLIN)
    assert caught.value.code == "which-week"
    lines = [line for _name, line in caught.value.choices]
    assert lines == ["call 2026-11-18", "call 2026-11-25"]
    assert [str(read(line, early, BERLIN).timing) for line in lines] == ["2026-11-18 09:00:00", "2026-11-25 09:00:00"]
    assert str(read("call on Wednesday at 8", early, BERLIN).timing) == "2026-11-18 08:00:00"


def test_a_piece_of_a_time_never_slides_into_the_title() -> None:
    lines = (HERE / "causes.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for language, now, zone, line, title, meanings, cause in (row.split("\t") for row in lines):
        instant = civil.first_instant(civil.zone(zone), datetime.fromisoformat(now))
        try:
            understood = read(line, instant, zone, language)
        except NotUnderstood:
            assert "REFUSE" in meanings, (line, cause)
            continue
        assert understood.sentence.title == title, (line, cause)
        assert f"{understood.timing}"[:16].removesuffix(" 09:00") in meanings.split(" | "), (line, cause)


@pytest.mark.parametrize(
    ("language", "titles"),
    [
        ("en", "call 3 people | buy sun cream | see Mark | turn on the light | pay invoice 4711"),
        ("de", "3 Äpfel kaufen | alle Fenster schließen | Abendessen kochen | Stundenzettel abgeben | so tun als ob"),
        ("es", "comprar 3 manzanas | todas las ventanas | cocinar la cena | una cita con el dentista | viaje al mar"),
    ],
)
def test_ordinary_words_and_amounts_stay_in_the_title(language: str, titles: str) -> None:
    when = {"en": "tomorrow 10:00", "de": "morgen 10:00", "es": "mañana 10:00"}[language]
    for title in titles.split(" | "):
        for line in (f"{title} {when}", f"{when} {title}"):
            understood = read(line, WEDNESDAY, BERLIN, language)
            assert (understood.sentence.title, f"{understood.timing}") == (title, "2026-11-19 10:00:00")


@pytest.mark.parametrize(
    ("language", "when", "title"),
    [
        ("en", "friday 9", "James dentist"),
        ("en", "friday 9", "sales meeting"),
        ("de", "Freitag 9", "einkaufen"),
        ("es", "viernes 9", "Inés al médico"),
        ("es", "viernes 9", "cumpleaños de Luis"),
    ],
)
def test_a_name_a_verb_and_what_is_not_counted_are_no_amount(language: str, when: str, title: str) -> None:
    understood = read(f"{when} {title}", WEDNESDAY, BERLIN, language)
    assert (understood.sentence.title, f"{understood.timing}") == (title, "2026-11-20 09:00:00")


@pytest.mark.parametrize(
    ("line", "language"),
    [("täglich 8 Uhr Pille", "de"), ("mañana a las diez y media cita", "es"), ("L-V 8:15 bus", "es")],
)
def test_a_line_means_the_same_in_other_forms_of_its_letters(line: str, language: str) -> None:
    for form in (normalize("NFD", line), line.replace(" ", "\u200b\xa0"), line.replace("-", "–")):
        assert said(form, language) == said(line, language)


def test_an_empty_and_a_long_line_are_refused_and_each_hint_is_used() -> None:
    codes = {code for _, code, *_ in table("refused.txt")}
    for line in ("", "  ", "x" * 301):
        with pytest.raises(NotUnderstood) as caught:
            read(line, WEDNESDAY, BERLIN)
        codes.add(caught.value.code)
    assert codes == HINTS.keys() - {"title", "which-week"}


@pytest.mark.parametrize(
    ("line", "zone", "now", "at", "slot"),
    [
        # The clock skips 02:30, or shows it twice.
        ("tomorrow 02:30", BERLIN, "2026-03-28T12:00", "2026-03-29T02:30", "2026-03-29T01:00"),
        ("tomorrow 02:30", BERLIN, "2026-10-24T12:00", "2026-10-25T02:30", "2026-10-25T00:30"),
        ("tomorrow 02:30", "America/New_York", "2026-03-07T12:00", "2026-03-08T02:30", "2026-03-08T07:00"),
        ("tomorrow 02:30", "Australia/Lord_Howe", "2026-10-03T00:00", "2026-10-04T02:30", "2026-10-03T15:30"),
        ("tomorrow 9:00", "Pacific/Apia", "2011-12-29T20:00", "2011-12-30T09:00", "2011-12-30T10:00"),
        # It is another day there.
        ("tomorrow 9:00", "Pacific/Kiritimati", "2026-11-18T12:00", "2026-11-20T09:00", "2026-11-19T19:00"),
        ("tomorrow 9:00", "Pacific/Niue", "2026-11-18T09:00", "2026-11-18T09:00", "2026-11-18T20:00"),
        ("tomorrow 9:00 Asia/Tokyo", BERLIN, "2026-11-18T16:00", "2026-11-20T09:00", "2026-11-20T00:00"),
        # Hours pass as they do, whatever the clock shows; days are the calendar's.
        ("in 3 hours", BERLIN, "2026-03-29T00:00", "2026-03-29T05:00", "2026-03-29T03:00"),
        ("in 24 hours", BERLIN, "2026-10-24T10:00", "2026-10-25T11:00", "2026-10-25T10:00"),
        ("in 1 day at 12:00", BERLIN, "2026-10-24T10:00", "2026-10-25T12:00", "2026-10-25T11:00"),
        ("in 10 minutes", "Asia/Kathmandu", "2026-11-18T12:00", "2026-11-18T17:55", "2026-11-18T12:10"),
    ],
)
def test_a_time_is_that_of_the_zone(line: str, zone: str, now: str, at: str, slot: str) -> None:
    instant = datetime.fromisoformat(f"{now}+00:00")
    understood = read(line, instant, zone)
    assert understood.timing == datetime.fromisoformat(at)
    rule = parse("once", {"at": at}, understood.zone)
    assert rule.next_after(instant) == datetime.fromisoformat(f"{slot}+00:00")


def test_a_wait_into_the_repeated_hour_is_in_utc() -> None:
    # In Berlin, 02:40 of that night would be the first one, an hour before.
    understood = read("in 20 minutes", datetime(2026, 10, 25, 1, 20, tzinfo=UTC), BERLIN)
    assert (understood.timing, understood.zone) == (datetime(2026, 10, 25, 1, 40), "UTC")  # noqa: DTZ001 - civil


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_whatever_is_written_is_understood_or_refused(language: str) -> None:
    own = [word for phrase in lexicon(language).phrases for word in phrase]
    words = [*WORDS.split(), *own]
    chance = random.Random(7)
    understood = 0
    for _ in range(1_000):
        line = " ".join(chance.choices(words, k=chance.randint(1, 4)))
        try:
            found = fields(read(line, WEDNESDAY, BERLIN, language))
        except (NotUnderstood, InvalidRule):
            continue
        understood += 1
        TimingForm(found, now=WEDNESDAY).is_valid()
    assert understood > 20
