"""The section of the form: repeat it until it is done."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy

from common.forms.edit_form import WholeNumberField, own_field
from notifications.inputs.channels_form import ChannelsField
from notifications.models import Channel

LONGEST_GAP = 24 * 60  # minutes
MOST_TIMES = 50
_TIMES = 5


class ChannelIdsField(ChannelsField):
    """The ids of some of the channels in `own`. Those in `removed` are left out."""

    removed: frozenset[str] = frozenset()

    def clean(self, value: Any) -> list[UUID]:  # type: ignore[override]
        return [one.id for one in super().clean(one for one in value or () if str(one) not in self.removed)]


class NagForm(forms.Form):
    nag_every = WholeNumberField(
        gettext_lazy("Minutes until it rings again"),
        1,
        LONGEST_GAP,
        gettext_lazy("Enter a whole number of minutes from 1 to 1,440 (a day), or leave it empty."),
        help_text=gettext_lazy("Until you press “Done” or snooze it. Empty: it rings once."),
    )
    nag_times = WholeNumberField(
        gettext_lazy("At most, times"),
        1,
        MOST_TIMES,
        gettext_lazy("Enter a whole number from 1 to 50, or leave it empty."),
        help_text=gettext_lazy("After the first time. Empty: 5."),
    )
    nag_channel_ids = ChannelIdsField(
        gettext_lazy("Again on"), required=False, help_text=gettext_lazy("None: on the same channels.")
    )

    def offer_nag_channels(self, own: Sequence[Channel], stored: Iterable[UUID], is_typed: bool) -> None:
        field = own_field(self, "nag_channel_ids")
        field.own = own
        field.removed = frozenset(map(str, stored)) - {str(channel.id) for channel in own}
        if not is_typed:
            field.show()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not cleaned.get("nag_every"):
            cleaned |= {"nag_times": None, "nag_channel_ids": []}
        elif not cleaned.get("nag_times"):
            cleaned["nag_times"] = _TIMES
        return cleaned

    def clear_nag(self) -> None:
        self.cleaned_data |= {"nag_every": None, "nag_times": None, "nag_channel_ids": []}
