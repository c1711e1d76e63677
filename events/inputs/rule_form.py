"""The form of a rule: what it listens to, conditions, texts, channels, how often it fires."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import Differences, EditForm, SharedFields, WholeNumberField, refuse
from common.texts.types import StrOrPromise
from common.uuid7 import uuid7
from events.inputs.conditions_field import MOST_CONDITIONS, ConditionsField, check_field
from events.inputs.seconds_field import SecondsField
from events.job_kinds.series import too_long
from events.models import Event, Rule
from events.pure import matching, steps
from events.reasons import OPERATORS
from events.rules import changes, words
from events.rules.changes import PLAIN
from notifications.inputs.channels_form import ChannelsForm, channel_rows, compared
from notifications.inputs.text_fields import BodyField, TitleField
from notifications.models import Channel
from people.models import User

_DAY = 86_400
_MOST = 1_000  # messages of a throttle, events of a digest
_PATTERN = gettext_lazy(
    "Write a type as order.paid, its beginning as order.*, or * for every event. Use small letters."
)
_PLACED = 5
_LIMIT = gettext_lazy("A limit needs a number and a time. Enter both, or neither.")
_DIGEST = gettext_lazy("This needs “Gather for” or “Gather until”. Fill one in, or leave this empty.")
_STEPS = gettext_lazy("This needs steps that follow. Enter some, or leave this empty.")
_END = gettext_lazy("This needs the event that ends the steps. Enter its type, or leave this empty.")
# A field, the fields of which it needs one, where the error is shown, its code and its text.
_NEEDS = (
    ("throttle_count", ("throttle_seconds",), "throttle_seconds", "throttle_incomplete", _LIMIT),
    ("throttle_seconds", ("throttle_count",), "throttle_count", "throttle_incomplete", _LIMIT),
    ("digest_count", ("digest_seconds", "digest_at"), "digest_count", "digest_required", _DIGEST),
    ("digest_key", ("digest_seconds", "digest_at"), "digest_key", "digest_required", _DIGEST),
    ("series_ends_on", ("series",), "series_ends_on", "series_required", _STEPS),
    ("series_key", ("series_ends_on",), "series_key", "series_end_required", _END),
)


def _check_steps(written: str) -> None:
    steps.read(written, matching.check)


def _text(label: StrOrPromise, most: int, attrs: Mapping[str, Any], **options: Any) -> forms.CharField:
    messages = {"required": options.pop("empty", "")}
    widget = forms.TextInput(attrs={"autocomplete": "off", **attrs})
    return forms.CharField(label=label, max_length=most, widget=widget, error_messages=messages, **options)


class ConditionRow(NamedTuple):
    """One row on the page; `errors` are by its parts."""

    number: int
    values: Mapping[str, Any]
    errors: Mapping[str, list[str]]


class RuleForm(EditForm, ChannelsForm):
    name = _text(
        gettext_lazy("Name"),
        80,
        {"placeholder": gettext_lazy("Big orders")},
        empty=gettext_lazy("Enter a name, such as “Big orders”."),
    )
    type_pattern = _text(
        gettext_lazy("Type of event"),
        100,
        {"placeholder": "order.paid", "list": "types", "spellcheck": "false", "autocapitalize": "none"},
        empty=_PATTERN,
        help_text=gettext_lazy("Such as order.paid; order.* for all that begins so; * for every event."),
        validators=[RegexValidator(rf"^(?:{matching.PATTERN.pattern})\Z", _PATTERN, "type_pattern", flags=re.ASCII)],
    )
    source = _text(
        gettext_lazy("Source"),
        200,
        {"spellcheck": "false"},
        required=False,
        help_text=gettext_lazy("Only from this one. Empty: from anywhere."),
    )
    conditions = ConditionsField(label=gettext_lazy("Conditions"), required=False)
    title = TitleField(check=matching.check, example=gettext_lazy("Order {data.order_id}"))
    body = BodyField(
        check=matching.check,
        help_text=gettext_lazy("Placeholders: {type}, {source}, {time}, {id}, and {data.…} for a field of the data."),
    )
    throttle_count = WholeNumberField(
        gettext_lazy("At most"), 1, _MOST, help_text=gettext_lazy("How often it rings. More events stay silent.")
    )
    throttle_seconds = SecondsField(label=gettext_lazy("Within"), least=1, most=7 * _DAY)
    digest_seconds = SecondsField(
        label=gettext_lazy("Gather for"),
        least=60,
        most=_DAY,
        help_text=gettext_lazy("One message for all events of this time."),
    )
    digest_at = forms.TimeField(
        label=gettext_lazy("Gather until"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time", "autocomplete": "off"}, format="%H:%M"),
        help_text=gettext_lazy("One message a day at this time, in your time zone."),
        error_messages={"invalid": gettext_lazy("Enter a time of day, such as 09:00, or leave it empty.")},
    )
    digest_count = WholeNumberField(
        gettext_lazy("But at most"),
        2,
        _MOST,
        help_text=gettext_lazy("The message comes as soon as there are so many."),
    )
    digest_key = _text(
        gettext_lazy("Apart for each"),
        200,
        {"placeholder": "data.customer", "list": "fields", "spellcheck": "false"},
        required=False,
        help_text=gettext_lazy("A field: events with another value get a message of their own."),
        validators=[check_field],
    )
    series = forms.CharField(
        label=gettext_lazy("Steps that follow"),
        required=False,
        max_length=steps.MOST,
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": steps.EXAMPLE}),
        help_text=format_lazy(gettext_lazy("{help} Placeholders as in the text."), help=steps.HELP),
        validators=[_check_steps],
    )
    series_ends_on = _text(
        gettext_lazy("Until this event happens"),
        100,
        {"placeholder": "order.paid", "list": "types", "spellcheck": "false", "autocapitalize": "none"},
        required=False,
        help_text=gettext_lazy("The type of an event."),
        validators=[RegexValidator(matching.WHOLE_TYPE, gettext_lazy("The type of an event is like order.paid."))],
    )
    series_key = _text(
        gettext_lazy("With the same"),
        200,
        {"placeholder": "data.order_id", "list": "fields", "spellcheck": "false"},
        required=False,
        help_text=gettext_lazy("A field that both events have. Empty: any event of this type ends it."),
        validators=[check_field],
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        rule: Rule | None = None,
        event: Event | None = None,
        also: Iterable[UUID] = (),
    ) -> None:
        """For a new rule, or to change `rule`; a new one may start from an `event`. `also`: see `offer_channels`."""
        if rule is None:
            initial: dict[str, Any] = {"made_as": uuid7()} | ({} if event is None else _from_event(event))
        else:
            initial = {name: getattr(rule, name) for name in (*PLAIN, "version")}
        super().__init__(data, initial=initial)
        self._user, self._rule, self.is_new = user, rule, rule is None
        self._rules = self.offer_channels(user, "events_rule", rule, also)

    def clean_conditions(self) -> list[dict[str, Any]]:
        """A page sends texts: a number that a program has stored, and that still reads the same, stays one."""
        cleaned: list[dict[str, Any]] = self.cleaned_data["conditions"]
        if isinstance(self.data, QueryDict) and self._rule is not None:
            with suppress(ValueError):  # damaged ones
                stored = matching.read_conditions(self._rule.conditions)
                typed = {(one.field, one.operator, matching.shown(one.value)): one.value for one in stored}
                for row in cleaned:
                    row["value"] = typed.get((row["field"], row["operator"], row["value"]), row["value"])
        return cleaned

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self.check_room(self._rules, settings.MOST_RULES, words.limit_reached())
        for name, needed, at, code, text in _NEEDS:
            if cleaned.get(name) and not any(cleaned.get(one) or one in self.errors for one in needed):
                refuse(self, at, code, text)
        if cleaned.get("digest_seconds") and cleaned.get("digest_at"):
            problem = _("Gather for a time, or until a time of day, not both. Leave one empty.")
            refuse(self, "digest_at", "digest_twice", problem)
        if cleaned.get("series"):
            self._check_series(cleaned)
        return cleaned

    def _check_series(self, cleaned: Mapping[str, Any]) -> None:
        if cleaned.get("digest_seconds") or cleaned.get("digest_at"):
            text = _("A rule that gathers events has no steps that follow. Remove one of the two.")
            refuse(self, "series", "series_and_digest", text)
        if cleaned.get("series_ends_on") and (problem := too_long(steps.read(cleaned["series"], matching.check))):
            refuse(self, "series", "series_too_long", problem)

    def as_rule(self) -> Rule:
        """The rule that a valid form describes, not saved."""
        cleaned = self.cleaned_data
        plain = {name: cleaned[name] for name in PLAIN}
        return Rule(user=self._user, channel_order=self.channel_order(), **plain, **self.row(self._rule))

    def change(self) -> Differences | None:
        wanted, channels = self.as_rule(), self.ordered()
        return self.try_to_save(
            lambda: changes.change(wanted, channels), lambda current: _differences(current, wanted, channels)
        )

    def change_rows(self, posted: QueryDict) -> bool:
        """Whether a button for the rows of conditions was pressed: then the form shows one more row, or one less.

        What was sent is shown too, without checking it.
        """
        if not {"add_condition", "remove_condition"} & posted.keys():
            return False
        fields = self.fields.items()
        self.initial = {name: field.widget.value_from_datadict(self.data, {}, name) for name, field in fields}
        self.is_bound = False
        removed, rows = posted.get("remove_condition", ""), self.initial["conditions"]
        self.initial["conditions"] = [row for number, row in enumerate(rows) if str(number) != removed]
        return True

    def condition_rows(self) -> list[ConditionRow]:
        stored = self["conditions"].value()
        listed = stored if isinstance(stored, list) else []
        rows = [
            row | {"value": matching.shown(row.get("value", ""))} if isinstance(row, dict) else {} for row in listed
        ]
        while rows and not rows[-1]:
            rows.pop()
        if len(rows) < MOST_CONDITIONS:
            rows.append({})
        errors: dict[str, dict[str, list[str]]] = {}
        for error in self.errors.as_data().get("conditions", []):
            number, part, _code = f"{error.code}..".split(".", 2)
            errors.setdefault(number, {}).setdefault(part, []).extend(error.messages)
        return [ConditionRow(number, row, errors.get(str(number), {})) for number, row in enumerate(rows)]

    def condition_errors(self) -> list[str]:
        """Those of no row."""
        errors = self.errors.as_data().get("conditions", [])
        return [text for error in errors if "." not in (error.code or "") for text in error.messages]

    operators = tuple(OPERATORS.items())


RuleForm.base_fields = SharedFields(RuleForm.base_fields)


def _from_event(event: Event) -> dict[str, Any]:
    """Return the first values of a rule for such events: its type, and its first fields in the text."""
    fields = matching.fields(event.data)[:_PLACED]
    return {
        "name": event.type[:80],
        "type_pattern": event.type,
        "title": "{type}",
        "body": "\n".join(f"{path.removeprefix('data.')}: {{{path}}}" for path in fields),
    }


def _differences(saved: Rule, typed: Rule, channels: Sequence[Channel]) -> Differences:
    enabled = _("Yes") if saved.enabled else _("No")
    return [*compared(_rows, saved, typed, channels), (_("Switched on"), enabled, enabled)]


def _rows(rule: Rule, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    return [
        (_("Name"), rule.name),
        (_("Listens to"), words.listens_to(rule)),
        (_("Conditions"), "\n".join(words.conditions(rule))),
        (_("Title"), rule.title),
        (_("Text"), rule.body),
        (_("Limit"), words.throttle(rule)),
        (_("Digest"), words.digest(rule)),
        (_("Steps that follow"), words.series(rule)),
        *channel_rows(rule, channels),
    ]
