"""The filter in the address of the history. A filter that makes no sense is ignored; a day gets an error."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from notifications.deliveries.history import Period
from notifications.messages.change_types import STATUS
from notifications.models import Channel, Delivery, Notification
from people.models import User

_STATE = Delivery.State
FAILED = "failed"
# Filters, and the states of deliveries that each includes.
STATES = {
    "delivered": (gettext_lazy("Delivered"), [_STATE.DELIVERED]),
    "open": (gettext_lazy("Waiting"), [_STATE.PENDING, _STATE.SENDING]),
    FAILED: (gettext_lazy("Failed or unknown"), [_STATE.DEAD, _STATE.UNKNOWN]),
    "dropped": (gettext_lazy("Cancelled or expired"), [_STATE.CANCELLED, _STATE.EXPIRED]),
}
TESTS = "tests"
_FIRST, _LAST = date(1970, 1, 2), date(2200, 1, 1)
_RANGE = gettext_lazy("Choose a day from 1970 to 2200.")


def _day(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": gettext_lazy("This is not a date. Write it like 2026-03-29.")},
        validators=[MinValueValidator(_FIRST, _RANGE), MaxValueValidator(_LAST, _RANGE)],
    )


class HistoryForm(forms.Form):
    """`channels` are the person's, removed ones too. Days are those of the reader's zone."""

    show = forms.ChoiceField(choices=[(TESTS, "")], required=False)
    q = forms.CharField(required=False)
    state = forms.ChoiceField(choices=[(name, label) for name, (label, _states) in STATES.items()], required=False)
    channel = forms.ChoiceField(required=False)
    reminder = forms.UUIDField(required=False)
    since = _day(gettext_lazy("From"))
    until = _day(gettext_lazy("To"))

    def __init__(self, data: Any, user: User) -> None:
        super().__init__(data)
        own = Channel.objects.filter(user=user).only("id", "label", "provider", "removed_at").order_by("label", "id")
        self.channels = sorted(own, key=lambda one: one.removed_at is not None)
        self.offered = [one for one in self.channels if one.provider != STATUS]
        removed = _("%(channel)s (removed)")
        self.fields["channel"].choices = [  # type: ignore[attr-defined]
            (str(one.id), removed % {"channel": one.label} if one.removed_at else one.label) for one in self.offered
        ]

    def clean_q(self) -> str:
        return str(self.cleaned_data["q"])[:200]

    def clean(self) -> dict[str, Any]:
        since, until = self.chosen("since"), self.chosen("until")
        if since and until and until < since:
            self.add_error("until", _("This is before the first day."))
        return self.cleaned_data

    def chosen(self, name: str) -> Any:
        """The value of a field; None where it is empty or invalid."""
        return self.cleaned_data.get(name) or None

    @property
    def days(self) -> list[forms.BoundField]:
        return [self["since"], self["until"]]

    @property
    def wrong_days(self) -> bool:
        return bool({"since", "until"} & self.errors.keys())

    @property
    def narrows(self) -> bool:
        """Whether it leaves out anything but the other tab."""
        return any(self.data.get(name) for name in ("since", "until")) or any(
            self.chosen(name) for name in ("q", "state", "channel", "reminder")
        )

    @property
    def period(self) -> Period:
        since, until = self.chosen("since"), self.chosen("until")
        return Period(since and midnight(since), until and midnight(until + timedelta(days=1)))

    @property
    def channel_ids(self) -> list[UUID]:
        """Those whose deliveries are asked for. Status webhooks are told of each change; only their failures show."""
        if chosen := self.chosen("channel"):
            return [UUID(chosen)]
        return [one.id for one in (self.channels if self.chosen("state") == FAILED else self.offered)]

    @property
    def states(self) -> Sequence[str]:
        chosen = self.chosen("state")
        return STATES[chosen][1] if chosen else _STATE.values

    @property
    def without(self) -> list[str]:
        """The origins of notifications that do not stand among the others."""
        status = [] if self.chosen("state") == FAILED else [Notification.Origin.STATUS]
        return [*Notification.OF_CHANNELS, *status]

    def presets(self) -> list[tuple[str, str, str, bool]]:
        """Label, first and last day, and whether it is chosen."""
        today = timezone.localdate()
        listed = []
        for label, days in ((_("Today"), 1), (_("7 days"), 7), (_("30 days"), 30)):
            first = today - timedelta(days=days - 1)
            chosen = (self.chosen("since"), self.chosen("until")) == (first, today)
            listed.append((label, first.isoformat(), today.isoformat(), chosen))
        return listed


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), timezone.get_current_timezone())
