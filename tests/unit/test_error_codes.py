"""Each error of a form has a code, for programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FORMS = [*sorted(Path().glob("*/inputs/**/*.py")), Path("events/pure/steps.py"), Path("common/forms/edit_form.py")]


def without_code(source: str) -> Iterator[str]:
    """Errors that are raised or added without a code; a list of errors needs none, since each of them has one."""
    for call in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]:
        name = ast.unparse(call.func).rpartition(".")[2]
        first = call.args[0] if call.args else None
        is_list = isinstance(first, ast.List | ast.ListComp) or (isinstance(first, ast.Name) and first.id == "errors")
        if name == "ValidationError" and len(call.args) + len(call.keywords) == 1 and not is_list:
            yield ast.unparse(call)
        # One that was caught has its own.
        if name == "add_error" and not re.match(r"forms\.ValidationError\(|error$", ast.unparse(call.args[1])):
            yield ast.unparse(call)


def test_the_walk_finds_an_error_without_a_code() -> None:
    assert len(FORMS) > 20
    assert [*without_code("raise forms.ValidationError(_('Wrong.'))")]
    assert [*without_code("self.add_error('title', _('Wrong.'))")]
    assert not [*without_code("raise ValidationError(_('Wrong.'), 'wrong'); raise ValidationError(errors)")]


@pytest.mark.parametrize("path", FORMS, ids=str)
def test_each_error_of_a_form_has_a_code(path: Path) -> None:
    assert not [*without_code(path.read_text())]


def codes(source: str) -> Iterator[str]:
    """The constant codes of errors, at the second place of a ValidationError and the third of a FieldError."""
    for call in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]:
        if place := {"ValidationError": 1, "FieldError": 2}.get(ast.unparse(call.func).rpartition(".")[2]):
            named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
            found = [*call.args[place : place + 1], *named]
            yield from (str(code.value) for code in found if isinstance(code, ast.Constant))


def test_the_documentation_lists_each_code_of_an_error() -> None:
    apps = ("api", "common", "events", "jobs", "notifications", "schedules", "watches")
    used = {code for app in apps for path in Path(app).rglob("*.py") for code in codes(path.read_text())}
    assert len(used) > 40
    page = Path("docs/api.md").read_text()
    listed = set(re.findall(r"`(\w+)`", page.partition("\nCodes of `errors`")[2].partition("\n## ")[0]))
    assert used - listed - {"dict_type"} == set()  # of a type, as pydantic's
