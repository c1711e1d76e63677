"""Watch a value of a page: a price, a level, a word, or whether the page answers at all."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from common.parsing.budget import OverBudget
from common.parsing.pool import parsed
from common.texts import numbers
from common.texts.refusal import TEXTS, Refusal
from jobs.kinds.address_kind import AddressKind, host_of
from jobs.kinds.base import Ask, Found, Nothing, Say
from jobs.kinds.web_value_form import CONDITIONS, HOW, NUMERIC, STATES, WITH_LIMIT, WebValueForm
from jobs.reading import extract
from jobs.reading.fetch import Fetch, Later, Refused, Unfit
from jobs.reading.numbers import number, shown
from jobs.reasons import JobCode
from notifications.messages.text import fit
from notifications.net.http import RequestFailed
from work.reasons import FORMATS, Codes, Reason

_IS = {
    "above": gettext_lazy("above"),
    "below": gettext_lazy("below"),
    "equals": gettext_lazy("exactly"),
    "contains": gettext_lazy("containing"),
}
_NOT_CHECKED = (JobCode.UNREADABLE_PAYLOAD, JobCode.OTHER_HOST)
_ANSWERED = (JobCode.TOO_LARGE, JobCode.COMPRESSED)
_LONGEST_WORD = 1_000
_LONGEST_EVIDENCE = 200

FORMATS["watched"] = lambda condition: str(_IS[condition])
TEXTS.update(
    watch_text=gettext_noop("a value is not a text."),
    watch_condition=gettext_noop("its condition is not known."),
    watch_how=gettext_noop("how to read the page is not known."),
    watch_limit=gettext_noop("its limit is not a number."),
)


class WebValueCode(Codes):
    FIRST = "web-first", gettext_noop("checked {host} for the first time: {value}")
    SAME = "web-same", gettext_noop("checked {host}: {value}, as before")
    CHANGED = "web-changed", gettext_noop("checked {host}: {value}, before: {previous}")
    MOVED = "web-moved", gettext_noop("checked {host}: {value}, that is {change} since {previous}")
    MOVED_LITTLE = "web-moved-little", gettext_noop("checked {host}: {value}, only {change} since {previous}")
    HOLDS = "web-holds", gettext_noop("checked {host}: {value}, now {condition:watched} {limit}")
    STILL_HOLDS = "web-still-holds", gettext_noop("checked {host}: {value}, still {condition:watched} {limit}")
    DOES_NOT_HOLD = "web-does-not-hold", gettext_noop("checked {host}: {value}, not {condition:watched} {limit}")
    UNREACHABLE = "web-unreachable", gettext_noop("checked {host}, which cannot be reached. {why}")
    STILL_UNREACHABLE = "web-still-unreachable", gettext_noop("checked {host}, which still cannot be reached. {why}")
    REACHABLE = "web-reachable", gettext_noop("checked {host}: it answers")
    # It could not check.
    NOT_FOUND = "web-not-found", gettext_noop("“{expression}” finds nothing at {host}. Has the page changed?")
    NO_NUMBER = "web-no-number", gettext_noop("“{value}” at {host} is not a number.")
    UNREADABLE = "web-unreadable", gettext_noop("What {host} answered cannot be read. {problem}")


class Watch(NamedTuple):
    """The question, as stored. `limit` is as typed; `mark` the decimal mark, "" to guess it."""

    condition: str
    how: str
    expression: str
    limit: str
    mark: str
    always: bool

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Watch:
        """Raises Refusal for a damaged payload."""
        texts = {name: payload.get(name, "") for name in ("condition", "how", "expression", "limit", "mark")}
        if not all(isinstance(value, str) for value in texts.values()):
            raise Refusal("watch_text")
        watch = cls(always=payload.get("always") is True, **texts)
        if watch.condition not in CONDITIONS:
            raise Refusal("watch_condition")
        if watch.condition == "unreachable":
            return watch
        if watch.how not in HOW:
            raise Refusal("watch_how")
        if watch.condition in NUMERIC and watch.number is None:
            raise Refusal("watch_limit")
        return watch

    @property
    def number(self) -> Decimal | None:
        return number(self.limit, self.mark)


class WebValue(AddressKind):
    name = "web_value"
    label = gettext_lazy("Value on the web")
    about = gettext_lazy("Watches a price, a number or a text of a page or an API, or whether it can be reached.")
    position = 20
    form = WebValueForm
    example: ClassVar = {"url": "https://example.org/offers", "expression": ".price"}
    placeholders: ClassVar = {
        "label": "price",
        "value": "89.90 €",
        "previous": "99.90 €",
        "change": "-10 (-10.01 %)",
        "url": "https://example.org/offers",
    }
    title = gettext_lazy("It is {value}")
    body = gettext_lazy("Before: {previous}\n{url}")

    def payload(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        """Only what its condition needs."""
        condition = cleaned["condition"]
        stored = super().payload(cleaned) | {"condition": condition}
        if condition != "unreachable":
            stored |= {"how": cleaned.get("how") or "html", "expression": cleaned["expression"]}
        if cleaned.get("name"):
            stored["name"] = cleaned["name"]
        if condition in WITH_LIMIT:
            stored["limit"] = cleaned["limit"]
        if condition in NUMERIC and cleaned.get("mark"):
            stored["mark"] = cleaned["mark"]
        if condition in STATES and cleaned.get("always"):
            stored["always"] = True
        return stored

    def summary(self, payload: Mapping[str, Any]) -> str:
        """ "price (.price) at example.org, only if it goes below 100"."""
        label = CONDITIONS.get(str(payload.get("condition")), "?")
        condition = " ".join(filter(None, (str(label), str(payload.get("limit") or ""))))
        name, path = str(payload.get("name") or ""), str(payload.get("expression") or "")
        parts = {"what": f"{name} ({path})" if name and path else name or path, "host": host_of(payload)}
        where = _("%(what)s at %(host)s") % parts if parts["what"] else parts["host"]
        return f"{where}, {condition}"[:200]

    def question(self, ask: Ask) -> Any:
        """Reminders with other limits share an answer; a number is wanted or not."""
        question = {name: ask.payload.get(name) for name in ("url", "how", "expression", "mark")}
        condition = ask.payload.get("condition")
        return question | {"number": condition in NUMERIC, "unreachable": condition == "unreachable"}

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        """Return what `extract.value` does, or `{"down": reason}` where the question is whether it can be reached."""
        try:
            watch = Watch.read(ask.payload)
        except Refusal as refusal:
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=refusal))
        if watch.condition == "unreachable":
            failure = self._failure(ask, fetch)
            return Found({"down": failure and {"code": failure.code, "params": failure.params}})
        page, host = self.read(ask, fetch), host_of(ask.payload)
        content_type = page.headers.get("Content-Type", "")
        try:
            value = parsed(
                extract.value, page.body, content_type, watch.how, watch.expression, watch.mark, person=ask.user_id
            )
        except OverBudget:
            raise
        except Refusal as refusal:
            return Refused(Reason(WebValueCode.UNREADABLE, host=host, problem=refusal))
        if value is None:
            return Refused(Reason(WebValueCode.NOT_FOUND, host=host, expression=watch.expression[:_LONGEST_EVIDENCE]))
        if value["number"] is None and watch.condition in NUMERIC:
            return Refused(Reason(WebValueCode.NO_NUMBER, host=host, value=_short(value["text"] or "")))
        return Found(value)

    def _failure(self, ask: Ask, fetch: Fetch) -> Reason | None:
        """Why the page cannot be reached; None if it answers. An address that is not allowed is an error."""
        try:
            self.read(ask, fetch)
        except RequestFailed as failure:
            if failure.refused:
                raise
            return failure.reason
        except Unfit as unfit:
            if unfit.answer.reason.code in _NOT_CHECKED:
                raise
            return None if unfit.answer.reason.code in _ANSWERED else unfit.answer.reason
        return None

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        watch = Watch.read(ask.payload)
        if watch.condition == "unreachable":
            return _decide_reachable(ask, watch, value["down"])
        if watch.condition in STATES:
            return _decide_state(ask, watch, value)
        return _decide_change(ask, watch, value)


def _decide_reachable(ask: Ask, watch: Watch, why: Any) -> Say | Nothing:
    host, memory = host_of(ask.payload), {"holds": why is not None}
    if why is None:
        return Nothing(Reason(WebValueCode.REACHABLE, host=host), memory)
    if _did_hold(ask) and not watch.always:
        return Nothing(Reason(WebValueCode.STILL_UNREACHABLE, host=host, why=why), memory)
    words = {
        "label": _name(ask),
        "value": _("unreachable"),
        "previous": _("reachable"),
        "change": str(Reason(why["code"], **why["params"])),
    }
    return Say(Reason(WebValueCode.UNREACHABLE, host=host, why=why), words | {"url": ask.payload["url"]}, memory)


def _decide_state(ask: Ask, watch: Watch, value: Mapping[str, Any]) -> Say | Nothing:
    """Once when it begins to hold, also at the first check of a limit; or at every check at which it holds."""
    holds, condition = _holds(watch, value), f"{watch.condition} {watch.limit}"
    # Memories of before have no `asked`.
    did_hold = _did_hold(ask) and ask.memory.get("asked", condition) == condition
    memory = {"holds": holds, "asked": condition, **value}
    code = WebValueCode.DOES_NOT_HOLD if not holds else WebValueCode.STILL_HOLDS if did_hold else WebValueCode.HOLDS
    reason = _reason(code, ask, value, condition=watch.condition, limit=watch.limit)
    if not holds or (did_hold and not watch.always):
        return Nothing(reason, memory)
    return Say(reason, _words(ask, value, ask.memory), memory)


def _decide_change(ask: Ask, watch: Watch, value: Mapping[str, Any]) -> Say | Nothing:
    """Against the check before; "by at least", against the value that was last told, so that small steps add up."""
    is_always = watch.condition == "always"
    if (base := ask.memory) is None:
        first = _reason(WebValueCode.FIRST, ask, value)
        return Say(first, _words(ask, value, None), value) if is_always else Nothing(first, value)
    previous = _short(base["text"])
    if watch.condition in ("always", "changed"):
        if base["text"] == value["text"]:
            same = _reason(WebValueCode.SAME, ask, value)
            return Say(same, _words(ask, value, base), value) if is_always else Nothing(same, value)
        return Say(_reason(WebValueCode.CHANGED, ask, value, previous=previous), _words(ask, value, base), value)
    change = _change(value, base)
    if not _reaches(watch, Decimal(value["number"]), Decimal(base["number"])):
        return Nothing(_reason(WebValueCode.MOVED_LITTLE, ask, value, previous=previous, change=change))
    return Say(
        _reason(WebValueCode.MOVED, ask, value, previous=previous, change=change), _words(ask, value, base), value
    )


def _holds(watch: Watch, value: Mapping[str, Any]) -> bool:
    text, limit = value["text"].casefold(), " ".join(watch.limit.split()).casefold()
    match watch.condition:
        case "equals":
            return bool(text == limit)
        case "contains":
            return limit in text
    least = watch.number or Decimal(0)
    return Decimal(value["number"]) > least if watch.condition == "above" else Decimal(value["number"]) < least


def _reaches(watch: Watch, now: Decimal, base: Decimal) -> bool:
    limit, moved = watch.number or Decimal(0), abs(now - base)
    if not watch.limit.rstrip().endswith("%"):
        return moved >= limit
    return moved > 0 and moved * 100 >= limit * abs(base)


def _did_hold(ask: Ask) -> bool:
    return bool(ask.memory and ask.memory.get("holds"))


def _reason(code: WebValueCode, ask: Ask, value: Mapping[str, Any], **more: Any) -> Reason:
    text, unit = _short(value["text"]), value.get("unit", "")
    if value["number"] not in (None, text):
        read = {"said": text, "number": numbers.amount(value["number"], unit)}
        text = _("%(said)s (read as %(number)s)") % read
        if other := value.get("other"):
            read["other"] = numbers.amount(other, unit)
            text = _("%(said)s (read as %(number)s, but it may be %(other)s: choose how numbers are written)") % read
    return Reason(code, host=host_of(ask.payload), value=text, **more)


def _words(ask: Ask, value: Mapping[str, Any], base: Mapping[str, Any] | None) -> dict[str, str]:
    return {
        "label": _name(ask),
        "value": _short(value["text"], _LONGEST_WORD),
        "previous": _("nothing yet") if base is None else _short(base["text"], _LONGEST_WORD),
        "change": _("nothing yet") if base is None else _change(value, base),
        "url": ask.payload["url"],
    }


def _name(ask: Ask) -> str:
    """The name that its person gave to what it reads."""
    return str(ask.payload.get("name") or ask.payload.get("expression") or host_of(ask.payload))


def _change(value: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """By how much it rose or fell: "-10 (-10.01 %)"."""
    if value["number"] is None or base["number"] is None:
        return _("not a number")
    before = Decimal(base["number"])
    change = Decimal(value["number"]) - before
    percent = f" ({change * 100 / abs(before):+.2f} %)" if before else ""
    return f"{'+' if change > 0 else ''}{shown(change)}{percent}"


def _short(text: str, longest: int = _LONGEST_EVIDENCE) -> str:
    return fit(text, longest).text
