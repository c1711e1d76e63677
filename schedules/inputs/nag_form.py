"""The section of the form: repeat it until it is done."""

from typing import Any, cast
from uuid import UUID

from django.utils.translation import gettext_lazy

from common.forms.edit_form import TypedForm, WholeNumberField, own_field
from notifications.inputs.channels_form import ChannelsField

LONGEST_GAP = 24 * 60  # minutes
MOST_TIMES = 50
_TIMES = 5


class ChannelIdsField(ChannelsField):
    """The ids of some of the channels in `own`. Those in `removed` are left out."""

    removed: frozenset[str] = frozenset()

    def clean(self, value: Any) -> list[UUID]:  # type: ignore[override]
        return [one.id for one in super().clean(one for one in value or () if str(one) not in self.removed)]


class NagForm(TypedForm):
    nag_every = WholeNumberField(
        gettext_lazy("Minutes until it rings again"),
        1,
        LONGEST_GAP,
        help_text=gettext_lazy("Until you press “Done” or snooze it. Empty: it rings once."),
    )
    nag_times = WholeNumberField(
        gettext_lazy("At most, times"),
        1,
        MOST_TIMES,
        help_text=gettext_lazy("After the first time. Empty: 5."),
    )
    nag_channel_ids = ChannelIdsField(
        gettext_lazy("Again on"), required=False, help_text=gettext_lazy("None: on the same channels.")
    )

    def offer_nag_channels(self, row: Any) -> None:
        """Those of `offer_channels`, which is called before."""
        field = own_field(self, "nag_channel_ids")
        field.own = cast(ChannelsField, self.fields["channels"]).own
        stored = () if row is None else row.nag_channel_ids
        field.removed = frozenset(map(str, stored)) - {str(channel.id) for channel in field.own}
        if not self.is_typed:
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
