"""The channel section of a form: which channels, all at once or in order."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.forms.models import ModelChoiceIteratorValue
from django.utils.translation import gettext as _, gettext_lazy

from common.database import postgres
from common.forms.edit_form import Differences, TypedForm, WholeNumberField, own_field, refuse
from common.texts.types import StrOrPromise
from notifications.messages.change_types import STATUS
from notifications.models import Channel, sort_channels
from notifications.models.channel import VERIFIED_SQL
from people.models import User

_AT_ONCE, _IN_ORDER = "", "order"
_LAST = 1_000  # after every position that can be typed
LONGEST_WAIT = 7 * 24 * 60  # minutes
MOST_CHOSEN = 20
"""Channels of one reminder or rule. Each firing is a row for each, and 500 reminders may fire in one minute."""


def _name(channel: Channel) -> str:
    return f"position_{channel.id.hex}"


# As `Channel.objects.for_user(…).for_messages()`, those that are verified or attached to the origin already. And how
# many rows of a table the person has: without a channel, no form is valid anyway.
_OFFERED = f"""
SELECT {postgres.columns(Channel, "c")},
       CASE WHEN %(origin)s::uuid IS NULL THEN c.use_for_new ELSE link.id IS NOT NULL END AS chosen,
       (SELECT count(*) FROM {{table}} WHERE user_id = %(user)s AND deleted_at IS NULL) AS rows
  FROM notifications_channel c
  LEFT JOIN {{table}}_channels link ON link.channel_id = c.id AND link.{{name}}_id = %(origin)s
 WHERE c.user_id = %(user)s AND c.removed_at IS NULL AND c.provider <> %(status)s
   AND ({VERIFIED_SQL} OR link.id IS NOT NULL OR c.id = ANY(%(also)s::uuid[]))
 ORDER BY c.id
"""  # noqa: S608  # names of columns


def channel_names(channels: Sequence[Channel], in_order: bool) -> str:
    labels = [channel.label for channel in channels]
    return _(", then ").join(labels) if in_order else ", ".join(sorted(labels))


def channel_rows(row: Any, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    """(label, value) of the channels of a reminder, rule or watch, for a comparison of two versions."""
    return [
        (_("Urgent"), _("Yes") if row.urgent else ""),
        (_("Channels"), channel_names(channels, bool(row.channel_order))),
        (_("Minutes until the next one"), str(row.escalate_after or "")),
    ]


def compared(
    rows: Callable[[Any, Sequence[Channel]], list[tuple[str, str]]], saved: Any, typed: Any, channels: Sequence[Channel]
) -> Differences:
    """Those of the labelled `rows` that either version has; `channels` are those of the typed one."""
    both = zip(rows(saved, saved.ordered_channels()), rows(typed, channels), strict=True)
    return [(label, before, after) for (label, before), (_label, after) in both if before or after]


class ChannelsField(forms.MultipleChoiceField):
    """Some of the channels in `own`, in the order in which they are given."""

    own: Sequence[Channel] = ()

    def __init__(self, label: StrOrPromise, **options: Any) -> None:
        super().__init__(
            label=label,
            widget=forms.CheckboxSelectMultiple,
            error_messages={
                "required": gettext_lazy("Choose at least one channel."),
                "invalid_choice": gettext_lazy("This is not one of your channels. Choose from those listed."),
                "too_many": gettext_lazy("Choose at most %(most)s channels."),
            },
            **options,
        )

    def show(self) -> None:
        """Offer the channels in its widget."""
        self.choices = [(ModelChoiceIteratorValue(channel.pk, channel), channel.label) for channel in self.own]

    def clean(self, value: Any) -> list[Channel]:  # Django's own gives the ids
        chosen = dict.fromkeys(str(one).lower().replace("-", "") for one in value or ())
        if not chosen and self.required:
            raise ValidationError(self.error_messages["required"], code="required")
        own = {channel.id.hex: channel for channel in self.own}
        if not chosen.keys() <= own.keys():
            raise ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")
        if len(chosen) > MOST_CHOSEN:
            raise ValidationError(self.error_messages["too_many"], code="too_many", params={"most": MOST_CHOSEN})
        return [own[key] for key in chosen]


def form_values(values: dict[str, Any]) -> dict[str, Any]:
    """Typed values for a form with channels, whose `channel_ids` and `in_order` (a bool) have other names there."""
    if "channel_ids" in values:
        values["channels"] = values.pop("channel_ids")
    if "in_order" in values:
        values["one_by_one"] = _IN_ORDER if values.pop("in_order") else _AT_ONCE
    return values


class ChannelsForm(TypedForm):
    """Positions are numbers, so they work without scripts. A chosen channel without a number comes last."""

    channels = ChannelsField(gettext_lazy("Channels"))
    urgent = forms.BooleanField(
        label=gettext_lazy("Urgent"), required=False, help_text=gettext_lazy("Also sent during your quiet hours.")
    )
    one_by_one = forms.ChoiceField(
        label=gettext_lazy("Order"),
        choices=[(_AT_ONCE, gettext_lazy("All at once")), (_IN_ORDER, gettext_lazy("In order, until one arrives"))],
        required=False,
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": gettext_lazy("Choose “All at once” or “In order”.")},
    )
    escalate_after = WholeNumberField(
        gettext_lazy("Minutes to wait for an acknowledgement"),
        1,
        LONGEST_WAIT,
        help_text=gettext_lazy("Then the next channel is tried. Empty: only after a failure."),
    )

    def offer_channels(self, user: User, table: str, stored: Any = None, also: Iterable[UUID] = ()) -> int:
        """Offer the person's channels with a position field for each; those of `stored`, a row of `table`, are chosen.

        Without one, those for new ones are. `also` are offered even if they do not work yet. Returns how many rows of
        `table` the person has that are not deleted.
        """
        origin, order = (None, []) if stored is None else (stored.id, stored.channel_order)
        values = {"user": user.pk, "status": STATUS, "origin": origin, "also": [*also]}
        rows = postgres.execute(_OFFERED.format(table=table, name=table.rpartition("_")[2]), values).fetchall()
        own = [postgres.instance(Channel, row) for row in rows]
        field = own_field(self, "channels")
        field.own = own
        chosen = (one for one, row in zip(own, rows, strict=True) if row.chosen)
        self.initial["channels"] = [channel.id for channel in sort_channels(order, chosen)]
        if not self.is_typed:
            field.show()
            self.initial["one_by_one"] = _IN_ORDER if order else _AT_ONCE
            self._add_positions(own, order)
        elif origin is not None:  # channels that are not given stay
            self.data = {"channels": self.initial["channels"], **self.data}
        return rows[0].rows if rows else 0

    def _add_positions(self, own: Sequence[Channel], order: Sequence[UUID]) -> None:
        for channel in own:
            self.fields[_name(channel)] = WholeNumberField(
                _("Position of %(label)s") % {"label": channel.label},
                1,
                _LAST - 1,
                initial=list(order).index(channel.id) + 1 if channel.id in order else None,
                widget=forms.NumberInput(attrs={"inputmode": "numeric", "class": "position"}),
            )

    def positions(self) -> Iterator[BoundField]:
        return (self[name] for name in self.fields if name.startswith("position_"))

    def in_order(self) -> bool:
        return bool(self.cleaned_data.get("one_by_one") == _IN_ORDER)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        chosen = cleaned.get("channels", [])
        if self.in_order():
            if len(chosen) == 1:
                refuse(self, "one_by_one", "one_channel", _("Choose two or more channels, or “All at once”."))
            counts = Counter(cleaned.get(_name(channel)) for channel in chosen)
            for channel in chosen:
                if (position := cleaned.get(_name(channel))) and counts[position] > 1:
                    text = _("Two channels have position %(position)s. Use each number once.") % {"position": position}
                    refuse(self, _name(channel), "position_twice", text)
        elif "one_by_one" in cleaned and cleaned.get("escalate_after"):
            text = _("This needs the option “In order”. Choose it, or leave this empty.")
            refuse(self, "escalate_after", "not_in_order", text)
        return cleaned

    def clear_order(self) -> None:
        self.cleaned_data["escalate_after"] = None

    def ordered(self) -> list[Channel]:
        """The chosen channels of a valid form, by position; without positions, as they were given."""
        chosen = list(self.cleaned_data["channels"])
        return sorted(chosen, key=lambda channel: self.cleaned_data.get(_name(channel)) or _LAST)

    def channel_order(self) -> list[UUID]:
        """The ids of the channels of a valid form that are tried in order; empty for all at once."""
        return [channel.id for channel in self.ordered()] if self.in_order() else []
