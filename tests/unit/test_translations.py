"""Every text that people see can be translated, and every translation says it with the same placeholders."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("common", "people", "work", "notifications", "jobs", "schedules", "events", "watches", "config")
LANGUAGES = ("de", "es")

_PART = re.compile(
    r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<!?/?(?:[a-zA-Z]|(?=\{%))(?:\{[%{].*?[%}]\}|[^<>])*>|[^<{]+|.", re.DOTALL
)
_SPOKEN = re.compile(
    r'\b(?:aria-label|placeholder|title|alt|data-heading)="((?:\{%.*?%\}|\{\{.*?\}\}|[^"])*)"', re.DOTALL
)
# Values of tags and filters, such as `{{ name|default:"None" }}` or `with title="Newest"`.
_ARGUMENT = re.compile(r'(?:\b(?:title|default|default_if_none|yesno)[=:])"([^"]*[A-Za-z]{2}[^"]*)"')
_LETTERS = re.compile(r"[^\W\d_]{2}")
# Not translated: names, and what people type as it stands.
_AS_IT_STANDS = re.compile(
    r"\b(?:Carillon|Healthchecks|TickTick|Todoist)\b|&\w+;"
    r"|<(code|pre|script|style)\b.*?</\1>|<span class=\"material-symbols.*?</span>",
    re.DOTALL,
)
# The API and its reference are English, as programs are.
_ENGLISH = ("templates/api/",)


def _templates() -> list[Path]:
    found = [path for ending in ("html", "txt") for path in ROOT.glob(f"templates/**/*.{ending}")]
    return [path for path in found if not str(path.relative_to(ROOT)).startswith(_ENGLISH)]


def _bare_texts(template: str) -> Iterator[str]:
    """The texts outside of `translate` and `blocktranslate`."""
    template = re.sub(r"\{% comment %\}.*?\{% endcomment %\}", "", template, flags=re.DOTALL)
    template = re.sub(r"\{% blocktrans(?:late)?\b.*?\{% endblocktrans(?:late)? %\}", "{# #}", template, flags=re.DOTALL)
    template = re.sub(r"\{% block width %\}.*?\{% endblock %\}", "", template)  # the name of a class
    template = _AS_IT_STANDS.sub("", template)
    for part in _PART.findall(template):
        if part.startswith(("{%", "{{")):
            texts = [] if part.startswith("{% translate ") else _ARGUMENT.findall(part)
        elif part.startswith("<"):
            texts = [re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", spoken) for spoken in _SPOKEN.findall(part)]
        else:
            texts = [] if part.startswith("{#") else [part]
        yield from (text.strip() for text in texts if _LETTERS.search(text))


@pytest.mark.parametrize("path", _templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_text_of_a_template_is_translated(path: Path) -> None:
    assert list(_bare_texts(path.read_text(encoding="utf-8"))) == []


# Arguments and entries that people read.
_NAMED = {"label", "help_text", "empty_label", "description", "verbose_name", "verbose_name_plural"}
_ASSIGNED = {"help_text", "empty_text", "search_help_text", "about"}
_SAYING = {"ValidationError", "add_error", "message_user"}


def _is_bare(node: ast.expr) -> bool:
    """Whether it is a text as it stands, or a text with values in it that no translator sees."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and " " in node.value and _LETTERS.search(node.value) is not None
    if isinstance(node, ast.JoinedStr):
        fixed = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return _LETTERS.search(fixed) is not None
    return False


def _said_by(call: ast.Call) -> list[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    said = [keyword.value for keyword in call.keywords if keyword.arg in _NAMED]
    for keyword in call.keywords:
        if keyword.arg == "error_messages" and isinstance(keyword.value, ast.Dict):
            said += keyword.value.values
    if name in _SAYING or (isinstance(of, ast.Name) and of.id == "messages"):
        said += call.args
    return said


def _bare_strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        said: list[ast.expr] = []
        if isinstance(node, ast.Call):
            said = _said_by(node)
        elif isinstance(node, ast.Assign) and {getattr(name, "id", "") for name in node.targets} & _ASSIGNED:
            said = [node.value]
        elif isinstance(node, ast.ClassDef) and "Codes" in {getattr(base, "id", "") for base in node.bases}:
            codes = [line.value for line in node.body if isinstance(line, ast.Assign)]
            said = [code.elts[1] for code in codes if isinstance(code, ast.Tuple)]
        elif isinstance(node, ast.JoinedStr):  # xgettext reads no text in it
            calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
            yield from (ast.unparse(call) for call in calls if getattr(call.func, "id", "") in {"_", "ngettext"})
        yield from (f"line {one.lineno}: {ast.unparse(one)}" for one in said if _is_bare(one))


def _modules() -> list[Path]:
    return [
        path
        for app in APPS
        for path in sorted((ROOT / app).rglob("*.py"))
        if not {"migrations", "management", "embedded"} & set(path.parts)
    ]


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_label_and_error_of_a_module_is_translated(path: Path) -> None:
    assert list(_bare_strings(path)) == []


def _catalog(language: str) -> dict[str, list[str]]:
    """The texts of a catalogue, each with its translations: one, or one for each plural. Fuzzy ones count as none."""
    found = {}
    source = (ROOT / f"locale/{language}/LC_MESSAGES/django.po").read_text(encoding="utf-8")
    for entry in source.split("\n\n")[1:]:
        fields = re.findall(r'^(msg\w+(?:\[\d\])?) ((?:".*"\n?)+)', entry, re.MULTILINE)
        read = {name: "".join(ast.literal_eval(line) for line in lines.splitlines()) for name, lines in fields}
        key = "\x04".join(filter(None, (read.get("msgctxt"), read["msgid"])))
        said = [text for name, text in read.items() if name.startswith("msgstr")]
        found[f"{key}\0{read.get('msgid_plural', '')}"] = [] if "#, fuzzy" in entry else said
    return found


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)\w|\{[\w:]*\}|</?\w+|href=|#(?!\w)|^\n|\n$", text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_has_a_translation_with_the_same_placeholders(language: str) -> None:
    wrong = []
    for key, translations in _catalog(language).items():
        one, more = key.split("\x04")[-1].split("\0")
        if not translations or not all(translations):
            wrong.append(f"not translated: {one}")
        # The singular may say the number in words.
        elif _placeholders(translations[-1]) != _placeholders(more or one) or any(
            not _placeholders(said) <= _placeholders(more or one) for said in translations
        ):
            wrong.append(f"other placeholders: {one} -> {translations}")
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_compiled_is_what_the_catalogue_says(language: str) -> None:
    with (ROOT / f"locale/{language}/LC_MESSAGES/django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for key, translations in _catalog(language).items():
        if not translations or not all(translations):
            continue
        context, _, text = key.rpartition("\x04")
        one, more = text.split("\0")
        if more:
            said = compiled.npgettext(context, one, more, 1) if context else compiled.ngettext(one, more, 1)
        else:
            said = compiled.pgettext(context, one) if context else compiled.gettext(one)
        assert said == translations[0]


def test_both_languages_know_the_same_texts() -> None:
    assert len({frozenset(_catalog(language)) for language in LANGUAGES}) == 1
