"""Preview a rule on an event: which conditions hold, and what it would say. Nothing is sent."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from common.parsing import strict_json
from common.texts.refusal import TEXTS, Refusal, noop as _
from events.intake import handling
from events.models import Event
from events.pure import matching
from events.pure.envelope import LARGEST_DATA
from events.pure.matching import Condition
from notifications.messages.text import Text
from people.models import User
from work.reasons import Reason

# How far back to look for events that fit, and for types.
_NEWEST = 1_000
_OFFERED = 20
# The fields of an envelope that are texts.
_TEXTS = ("type", "id", "source", "time", "correlation_id")
TEXTS.update(
    sample_large=_("This is larger than %(most)s KiB, which no event is. Paste less."),
    sample_syntax=_("This is not JSON that can be read. %(error)s"),
    sample_object=_('Paste one JSON object, such as {"amount": 120}.'),
    sample_hint=_('To try it as the data of an event, put it into {"data": …}.'),
    sample_field=_("This looks like a whole event, which has no field “%(name)s”. %(hint)s"),
    sample_text=_("This looks like a whole event, whose “%(name)s” is a text in quotes. %(hint)s"),
    sample_type=_("“%(type)s” is not a type of event, such as order.paid. %(hint)s"),
    sample_data=_('The “data” of an event is an object, such as {"amount": 120}. Correct it.'),
)


class Outcome(NamedTuple):
    """The result of a rule, without throttle and digest.

    `conditions` are each with why it does not hold, None if it holds; `missing` are the fields of its texts that the
    event lacks.
    """

    fits_type: bool
    fits_source: bool
    conditions: list[tuple[Condition, Reason | None]]
    text: Text
    missing: list[str]

    @property
    def rings(self) -> bool:
        return self.fits_type and self.fits_source and all(unmet is None for _, unmet in self.conditions)


def outcome(
    type_pattern: str, source: str, conditions: Sequence[Condition], title: str, body: str, envelope: dict[str, Any]
) -> Outcome:
    budget = matching.budget_of_event()
    return Outcome(
        fits_type=matching.fits_pattern(type_pattern, envelope["type"]),
        fits_source=source in ("", envelope["source"]),
        conditions=[(one, matching.unmet([one], envelope, budget)) for one in conditions],
        text=handling.compose(title, body, envelope),
        missing=matching.missing(f"{title}\n{body}", envelope),
    )


def fitting_events(user: User, pattern: str) -> list[Event]:
    """The person's last events that fit a pattern, newest first, without their data."""
    events: QuerySet[Event] = Event.objects.for_user(user)
    if matching.TYPE.fullmatch(pattern):
        events = events.filter(type=pattern)
    elif pattern.endswith(".*"):
        events = _newest(events).filter(type__startswith=pattern[:-1])
    return list(events.only("key", "type", "source", "occurred_at").order_by("-id")[:_OFFERED])


def types_seen(user: User) -> list[str]:
    return sorted(_newest(Event.objects.for_user(user)).order_by().values_list("type", flat=True).distinct())


def _newest(own: QuerySet[Event]) -> QuerySet[Event]:
    """A bounded part, so that no page grows with history."""
    return Event.objects.filter(id__in=own.order_by("-id").values("id")[:_NEWEST])


def read_sample(text: str, type: str, source: str) -> dict[str, Any]:
    """The envelope that a person pasted as JSON: a whole event, or its data alone, which is then of `type`.

    Raises Refusal.
    """
    if len(raw := text.encode()) > LARGEST_DATA:
        raise Refusal("sample_large", most=LARGEST_DATA // 1024)
    try:
        given = strict_json.read(raw, odd_numbers_as_text=True)
    except strict_json.Bad as error:
        raise Refusal("sample_syntax", error=error) from None
    if not isinstance(given, dict):
        raise Refusal("sample_object")
    names = {*_TEXTS, "hops", "topic", "delay", "data"}
    is_whole = {"type", "data"} <= given.keys() or (bool({"type", "data"} & given.keys()) and given.keys() <= names)
    if not is_whole:
        return {"type": type, "source": source, "data": given}
    _check_sample(given, names)
    return {"type": type, "source": source, "data": {}} | given


def _check_sample(given: dict[str, Any], names: set[str]) -> None:
    hint = Refusal("sample_hint")
    for name in given.keys() - names:
        raise Refusal("sample_field", name=name[:80], hint=hint)
    for name in _TEXTS:
        if not isinstance(given.get(name, ""), str):
            raise Refusal("sample_text", name=name, hint=hint)
    if "type" in given and matching.TYPE.fullmatch(given["type"]) is None:
        raise Refusal("sample_type", type=given["type"][:80], hint=hint)
    if not isinstance(given.get("data", {}), dict):
        raise Refusal("sample_data")
