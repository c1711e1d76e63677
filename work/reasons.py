"""Reasons as codes with parameters, and the sentences that people read for them. Pure.

The database holds a code and its parameters; a sentence is made only where a person reads it. Nothing compares or
parses a sentence. Parameters may hold what a service said, as data, but never a secret.

Each app lists its own codes as a subclass of `Codes`; those of the engine stand here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from string import Formatter
from typing import Any

from django.utils.translation import gettext, gettext_noop as _

from common.database.damaged import object_of
from common.texts.numbers import grouped
from common.texts.refusal import TEXTS, Refusal, words
from common.times import dates

_CODES: dict[str, Codes] = {}
# What rows of an earlier release call a code: an attempt never changes. Apps add theirs.
FORMER: dict[str, str] = {}
LOADERS: list[Callable[[], object]] = []
"""Each loads modules that a process loads late, with their codes: called for an unknown code. Apps add theirs."""
# How a parameter is shown, by what follows its name and a colon in a sentence. Apps add theirs.
FORMATS: dict[str, Callable[[Any], str]] = {
    "number": lambda value: f"{round(value, 1 if abs(value) >= 1 else 3):g}",
    "civil": dates.civil,
    "bytes": lambda size: gettext("%(size)s bytes") % {"size": grouped(size)},
    "service": lambda name: gettext(name) if name and isinstance(name, str) else str(name),
}


class Codes(StrEnum):
    """Codes, each with its sentence, and the parameters that tell the dead letters of one code apart."""

    text: str
    grouped_by: tuple[str, ...]

    def __new__(cls, code: str, text: str, *grouped_by: str) -> Codes:
        member = str.__new__(cls, code)
        member._value_, member.text, member.grouped_by = code, text, grouped_by
        _CODES[code] = member
        return member


class WorkCode(Codes):
    DAMAGED_ROW = "damaged-row", _("Nothing was done: what is stored of it is damaged ({error}).")
    FAULT = "fault", _("Carillon itself failed in the middle of it ({kind}: {error})."), "error"
    STOPPED = "stopped", _("The worker was stopped in the middle of it.")
    LOST = "lost", _("The worker was lost in the middle of it.")
    RELEASED = "released", _("The worker was stopped before it had begun.")
    OVERTAKEN = "overtaken", _("Something else changed what it had read, so it begins again.")
    LOCKED = "locked", _("Something else was changing what it needs, so it begins again.")
    DATABASE_AWAY = "database-away", _("The database went away while this try was being opened.")
    SKIPPED = "skipped", _("An operator skipped it after a restore or a hold.")
    RESTORED = "restored", _("It was open at a restore or a hold, and may have been sent already.")
    STALE = "stale", _("It was stale before it could be done.")
    DISCARDED = "discarded", _("Discarded: {said}")
    FIXED = "fixed", _("Dealt with otherwise: {said}")


# A reason may hold the one before it, so many deep: a channel that came after one that was disabled after a 410.
_DEPTH = 5


class Reason:
    """A code and its parameters: JSON values, reasons or refusals. Its text is the sentence for people."""

    __slots__ = ("code", "params")

    def __init__(self, code: str, /, **params: Any) -> None:
        self.code = str(code)
        self.params = {name: _stored(value) for name, value in params.items()}

    @classmethod
    def read(cls, code: str, params: str) -> Reason:
        """Return the reason of a row, whose parameters are the text of a jsonb."""
        return cls(code, **object_of(params))

    def then(self, following: Reason) -> Reason:
        """Return this reason with another one, whose sentence comes after its own and those that follow it already."""
        params = dict(self.params)
        if (last := params.pop("then", None)) is not None:
            following = Reason(last["code"], **last["params"]).then(following)
        return Reason(self.code, **params, then=following)

    @property
    def json(self) -> str:
        """The parameters, for a column of jsonb."""
        return json.dumps(self.params) if self.params else "{}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.params) == (other.code, other.params)

    def __hash__(self) -> int:
        return hash((self.code, self.json))

    def __str__(self) -> str:
        return sentence(self.code, self.params)

    def __repr__(self) -> str:
        return f"Reason({self.code!r}, {self.params!r})"


NO_REASON = Reason("")


def sentence(code: str, params: object) -> str:
    """Return the sentence for a stored reason. An unknown code and damaged parameters are readable too."""
    return _sentence(code, params, _DEPTH)


def cause_of(handler: str, reason: Reason, state: str) -> str:
    """Return the group of a dead letter: one handler, one reason and one end. Fit for a URL."""
    listed = _CODES.get(reason.code)
    details = [str(reason.params[name]) for name in listed.grouped_by if reason.params.get(name)] if listed else []
    end = "-unknown" if state == "unknown" else ""
    return re.sub(r"[^a-z0-9_-]+", "-", "-".join([handler, reason.code, *details]).lower())[: 64 - len(end)] + end


def _sentence(code: str, params: object, depth: int) -> str:
    if depth == 0:
        return "…"
    code = FORMER.get(code, code)
    given = {
        name: _sentence(str(value.get("code")), value.get("params"), depth - 1) if isinstance(value, Mapping) else value
        for name, value in (params.items() if isinstance(params, Mapping) else ())
    }
    template = _template(code)
    if code not in _CODES and code in TEXTS:
        return words(code, given)
    text = _capitalised(
        _FORMATTER.vformat(template, (), given).strip() or str(given.get("said") or code), template, given
    )
    return f"{text} {given['then']}" if "then" in given else text


def _template(code: str) -> str:
    if code and code not in _CODES and code not in TEXTS:
        for load in LOADERS:
            load()
    listed = _CODES.get(code)
    return gettext(listed.text) if listed and listed.text else ""


def _capitalised(text: str, template: str, given: Mapping[str, Any]) -> str:
    """A sentence begins with a capital, also where a service does ("the mail server", or what it is in a language)."""
    begins = template.startswith("{service") and str(given.get("service")).startswith("the ")
    return text[0].upper() + text[1:] if begins or text.startswith("the ") else text


def _stored(value: Any) -> Any:
    if isinstance(value, Refusal):
        value = Reason(value.code, **value.params)
    if isinstance(value, Reason):
        return {"code": value.code, "params": value.params}
    # jsonb cannot hold NUL and halves of surrogate pairs.
    return re.sub("[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


class _Formatter(Formatter):
    """Fills in a sentence; "…" where a parameter is missing, as it stands where it is of another kind."""

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key), "…")

    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            return FORMATS[format_spec](value) if format_spec else str(value)
        except (KeyError, TypeError, ValueError, OverflowError):
            return str(value)


_FORMATTER = _Formatter()
