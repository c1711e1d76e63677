"""The words and the grammar of quick add are data: what each file has, and what a line costs at most."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from schedules.inputs.sentences import NotUnderstood, grammar, pieces, read
from schedules.inputs.sentences.pieces import LONGEST
from tests.calls import calls

NOW = datetime(2026, 11, 18, 9, 7, 20, tzinfo=UTC)
TABLES = {"words", "num", "ord", "unit", "weekday", "month", "part", "rel"}
WORDS = {
    "every",
    "at",
    "on",
    "next",
    "this",
    "the",
    "of",
    "in",
    "a",
    "and",
    "to",
    "until",
    "from",
    "half",
    "vague",
    "near",
}
# A few Dutch words.
DUTCH = """
preambles = ["herinner me aan"]
compounds = "{unit}en{ten}"
ordinary = "dak"
[words]
every = "elke"
at = "om"
oclock = "uur"
in = "over"
vague = "binnenkort"
[num]
1 = "een"
2 = "twee"
20 = "twintig"
[ord]
1 = "eerste"
[unit]
days = "dag dagen"
[weekday]
0 = "maandag"
[month]
12 = "december"
[part]
evening = "avond"
[rel]
1 = "morgen"
"""


@pytest.fixture
def _fresh() -> Iterator[None]:
    yield
    pieces.lexicon.cache_clear()
    grammar.grammar.cache_clear()


@pytest.mark.usefixtures("_fresh")
def test_a_fourth_language_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(pieces.DATA, tmp_path / "data")
    (tmp_path / "data/nl.toml").write_text(DUTCH, encoding="utf-8")
    monkeypatch.setattr(pieces, "DATA", tmp_path / "data")
    found = read("tandarts morgen om 9 uur", NOW, "Europe/Amsterdam", "nl")
    assert (found.sentence.title, f"{found.timing}") == ("tandarts", "2026-11-19 09:00:00")
    found = read("over tweeentwintig dagen paspoort", NOW, "Europe/Amsterdam", "nl")
    assert (found.sentence.title, f"{found.timing}") == ("paspoort", "2026-12-10 09:00:00")
    with pytest.raises(NotUnderstood) as caught:
        read("binnenkort morgen", NOW, "Europe/Amsterdam", "nl")
    assert caught.value.code == "vague"


@pytest.mark.parametrize("language", pieces.languages())
def test_the_file_of_a_language_has_what_each_needs_and_nothing_unknown(language: str) -> None:
    data = tomllib.loads((pieces.DATA / f"{language}.toml").read_text(encoding="utf-8"))
    tables = {name: table for name, table in data.items() if isinstance(table, dict)}
    assert tables.keys() >= TABLES
    assert tables["words"].keys() >= WORDS
    assert {str(number) for number in range(21)} <= tables["num"].keys()
    assert {str(number) for number in range(30, 100, 10)} <= tables["num"].keys()
    assert [sorted(map(int, tables[name])) for name in ("weekday", "month")] == [
        sorted(set(range(7)) - {int(one) for one in tables.get("weakday", {})} | set(map(int, tables["weekday"]))),
        sorted(set(range(1, 13)) - {int(one) for one in tables.get("weakmonth", {})} | set(map(int, tables["month"]))),
    ]
    used = " ".join(text for name in ("grammar", "left") for _, text in pieces.definitions(name))
    code = "".join(path.read_text(encoding="utf-8") for path in pieces.DATA.parent.glob("*.py"))
    kinds = {*re.findall(r"[a-z]+", used), *re.findall(r"[a-z]+", code)}
    assert {*tables["words"], *tables} - {"words", "joined"} <= kinds


def test_each_action_of_the_grammar_is_used_and_known() -> None:
    assert {rule.action for rule in grammar.rules()} - {""} == grammar.ACTIONS.keys()


@pytest.mark.parametrize("language", pieces.languages())
def test_the_grammar_knows_what_each_number_can_be(language: str) -> None:
    known = set(pieces.lexicon(language).kind_sets())
    numbers = [f"{first}{sign}{second}" for first in range(0, 61, 3) for second in range(100) for sign in ":.,h/-"]
    numbers += [f"{number}{end}" for number in range(0, 61) for end in ["am", "p", "x", "m", "h", "º", "th", ".12."]]
    for text in [*numbers, *map(str, range(0, 10_100)), "1/4", "3/4/2031", "UTC-3", "@weekly", "Europe/Rome"]:
        try:
            found = pieces.pieces(text, language)
        except NotUnderstood:
            continue
        assert {frozenset(piece.kinds) for piece in found} <= known, text


HOSTILE = [
    "every " * 60,
    "1 " * 150,
    "," * 300,
    "and , " * 50,
    "monday and " * 27,
    "1 to 2 - " * 33,
    "the on this " * 25,
    "day of the first of " * 15,
    "1/" * 150,
    "9:00 and " * 33,
    "1 hour and a half " * 16,
    "in " * 100,
    '"' * 299,
    "a." * 150,
    "0171 " * 60,
    "last next this " * 20,
    "x" * 300,
    "3. " * 100,
    "mon/" * 75,
    "friday 12 eggs " * 20,
    "8, " * 100,
]


@pytest.mark.parametrize("language", pieces.languages())
def test_no_line_of_the_longest_length_takes_many_steps(language: str) -> None:
    """Calls of functions, in Python and in C, are counted instead of time; a usual line takes some thousands."""
    usual = _calls("dentist tomorrow at 9", language)
    for line in HOSTILE:
        assert _calls(line[:LONGEST], language) < 58 * usual, line


def test_marks_of_a_line_that_is_far_too_long_are_not_sorted() -> None:
    begun = process_time()
    with pytest.raises(NotUnderstood):
        read("a" + "\u0315\u0300" * 100_000, NOW, "Europe/Berlin")
    assert process_time() - begun < 2.0  # seconds; to sort them takes 20


def _calls(line: str, language: str) -> int:
    def read_line() -> None:
        with suppress(NotUnderstood):
            read(line, NOW, "Europe/Berlin", language)

    read_line()  # what is made once and kept does not count
    return calls(read_line)


def test_no_pattern_of_the_grammar_repeats_a_repetition() -> None:
    """So that a search takes at most the square of the length, not 2 to its power."""
    for rule in grammar.rules():
        for group in re.findall(r"\((?:[^()]|\([^()]*\))*\)[*+]", rule.pattern):
            assert not re.search(r"[*+]", group[:-1].replace("and+", "and")), rule
