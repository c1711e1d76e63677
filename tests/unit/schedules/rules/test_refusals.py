"""A refused rule is a code with parameters; its sentence is made where it is read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.utils import translation

from schedules.rules import InvalidRule, parse
from schedules.rules.refusals import TEXTS, sentence

ROOT = Path(__file__).resolve().parents[4]
RAISING = [path for path in sorted((ROOT / "schedules/rules").glob("*.py")) if path.name != "refusals.py"]
RAISING.append(ROOT / "schedules/inputs/repeat_form.py")
# Of all texts.
TEXTUAL = (
    "canonical", "closest", "error", "fewer", "fixed", "frequencies", "frequency", "given", "key", "kind", "kinds",
    "line", "lowest", "name", "offset", "parameter", "part", "parts", "shorthands", "text", "timezone", "value",
    "written", "year",
)  # fmt: skip
PARAMS = {
    **dict.fromkeys(TEXTUAL, "x"),
    **dict.fromkeys(("count", "highest", "length", "longest", "month", "most"), 2),
    **dict.fromkeys(("cities", "parameters"), ("x", "y")),
    "range": "hour",
}


@pytest.mark.parametrize("code", TEXTS)
def test_every_code_has_its_sentence_in_three_languages(code: str) -> None:
    said = set()
    for language in ("en", "de", "es"):
        with translation.override(language):
            said.add(sentence(code, {name: value for name, value in PARAMS.items() if name != "given"}))
            assert "%" not in sentence(code, PARAMS)
    assert len(said) == 3


def test_a_refusal_is_in_the_language_of_its_reader() -> None:
    with pytest.raises(InvalidRule) as refused:
        parse("weekly", {"time": "09:00", "days": [7]}, "UTC")
    assert (refused.value.field, refused.value.code, refused.value.params) == ("days", "days", {"given": "7"})
    with translation.override("de"):
        assert str(refused.value).startswith("„7“ ist hier nicht möglich.")


@pytest.mark.parametrize("path", RAISING, ids=lambda path: path.name)
def test_no_sentence_is_made_where_a_rule_is_refused(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    names = ("InvalidRule", "_wrong", "unusable", "whole_number")
    for call in calls:
        if ast.unparse(call.func).rpartition(".")[2] not in names:
            continue
        for part in ast.walk(call):
            made = isinstance(part, ast.Name) and part.id in ("_", "gettext", "gettext_lazy", "ngettext")
            assert not made, f"line {call.lineno}"
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                assert re.fullmatch(r"\w+|…|, |", part.value), f"line {call.lineno}: {part.value}"


def test_every_code_is_raised() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in RAISING)
    units = {f"every_{unit}" for unit in ("minutes", "hours", "days")}
    assert {code for code in TEXTS if f'"{code}"' not in source} == units
