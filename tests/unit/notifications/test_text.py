"""Reminders in a person's own words: what their placeholders become, and which ones there are not."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import hypothesis
import pytest
import regex
from hypothesis import strategies

from notifications.messages import text

SLOT = datetime(2026, 3, 29, 7, 0, tzinfo=UTC)


def compose(title: str = "Ferns", body: str = "", name: str = "Ada") -> text.Text:
    return text.compose(title, body, name=name, slot=SLOT, time_zone="Europe/Berlin")


def test_each_placeholder_becomes_what_it_names() -> None:
    composed = compose("Water for {name}", "{name}, it is {slot}: {schedule}.")
    assert composed.subject == "Water for Ada"
    assert composed.body == "Ada, it is Sunday 29 March 2026, 09:00: Water for {name}."


def test_the_day_and_the_hour_can_stand_apart() -> None:
    assert compose(body="{time} on {date}").body == "09:00 on Sunday 29 March 2026"


@pytest.mark.parametrize("name", ["x" * 300, "👨‍👩‍👧‍👦" * 60, "e\u0301" * 150])
def test_a_title_that_grows_too_long_is_cut_with_a_mark_between_characters(name: str) -> None:
    subject = compose("{name}", name=name).subject
    assert len(subject) <= 200
    assert name.startswith(subject.removesuffix("…"))
    assert regex.match(r"\X", name[len(subject) - 1 :]) and subject.endswith(("x…", "👦…", "\u0301…"))


def test_what_a_placeholder_becomes_is_not_read_again() -> None:
    assert compose(body="{name}", name="{slot}").body == "{slot}"


def test_at_most_ten_problems_are_told() -> None:
    assert len(text.check("".join(f"{{p{number}}}" for number in range(60)))) == 10


def test_a_text_has_at_most_a_hundred_placeholders() -> None:
    assert text.check("{name}" * 100) == []
    [problem] = text.check("{name}" * 101)
    assert "101" in problem
    assert "100" in problem


def test_a_stored_text_of_many_placeholders_is_cut_where_it_is_too_long_to_send() -> None:
    said = compose("Ferns" * 40, "{schedule}" * 1_000).body
    assert len(said) == text.MAX_BODY
    assert said.endswith("…")
    assert len(text.replace(text.PLACEHOLDER, "{name}" * 1_666, lambda match: "x" * 1_000)) < text.MAX_BODY + 2_000
    assert compose(body="{name}" * 1_666, name="Ada").body == "Ada" * 1_666


@pytest.mark.parametrize(
    "template", ["", "{name} {slot} {schedule}", "{}", "{ nmae }", '{"a": 1}', "{{x", "{1}", "{ä}"]
)
def test_what_is_no_attempt_at_a_placeholder_is_left_alone(template: str) -> None:
    assert text.check(template) == []


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{nmae}", "Did you mean {name}?"),
        ("{Name}", "Did you mean {name}?"),
        ("{slots}", "Did you mean {slot}?"),
        ("{shedule}", "Did you mean {schedule}?"),
        ("{name.__class__}", "{name.__class__} is not a placeholder."),
        ("{wombat}", "Use {name}, {slot}, {date}, {time} or {schedule}."),
        ("{nmae}", "Use {name}, {slot}, {date}, {time} or {schedule}."),
    ],
)
def test_an_unknown_placeholder_is_told_which_one_was_meant(template: str, said: str) -> None:
    [problem] = text.check(f"a {template} b {template}")
    assert said in problem


def test_each_unknown_placeholder_is_named() -> None:
    assert [problem.split()[0] for problem in text.check("{a} {name} {b} {a}")] == ["{a}", "{b}"]


@hypothesis.settings(deadline=None, derandomize=True)
@hypothesis.given(
    title=strategies.text(max_size=80),
    body=strategies.text(max_size=200) | strategies.text(alphabet="{}%()s.name_slot[0]!r:$", max_size=200),
    name=strategies.text(max_size=40),
)
def test_no_text_is_executed_as_a_template(title: str, body: str, name: str) -> None:
    composed = compose(title, body, name)
    pieces = re.split(r"\{(?:name|slot|date|time|schedule)\}", body)
    rest = composed.body
    for piece in pieces:
        assert piece in rest, "other text stays as typed"
        rest = rest[rest.index(piece) + len(piece) :]
    if len(pieces) == 1:
        assert composed.body == body
    assert "\n" not in composed.subject and 0 < len(composed.subject) <= 200
