"""Status webhooks: webhooks that get changes of states, where other channels get messages."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from notifications.messages import change_types
from notifications.messages.message import Destination, Message
from notifications.providers.webhook import Webhook, WebhookForm


class TypesField(forms.CharField):
    """Types of changes, as a list, or as a text with spaces or commas."""

    def to_python(self, value: Any) -> Any:
        return list(map(str, value)) if isinstance(value, list) else super().to_python(value)


class StatusForm(WebhookForm):
    cloudevents = None  # type: ignore[assignment]  # as Django removes a field
    types = TypesField(
        label=_("Changes"),
        max_length=1_000,
        initial=" ".join(change_types.NOUNS),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("The types of changes to send, such as delivery.dead, or delivery.* for all of them."),
        error_messages={
            "required": _("Enter the types of changes to send, such as delivery.* or notification.failed."),
            "max_length": _("Use at most %(limit_value)d characters; delivery.* stands for all types of a delivery."),
        },
    )
    everybody = forms.BooleanField(
        label=_("Everybody's changes"), required=False, help_text=_("For operators only. Without it, you get your own.")
    )

    def clean_types(self) -> list[str]:
        try:
            return change_types.parse(self.cleaned_data["types"])
        except change_types.UnknownType as error:
            raise forms.ValidationError(str(error), "unknown_type") from None


class Status(Webhook):
    """Posts a signed JSON document for each change; see `notifications.changes.feed`."""

    kind = change_types.STATUS
    label = _("Status webhook")
    about = _("Posts each change of your messages, reminders and channels as JSON. It gets no messages.")
    position = 200
    form = StatusForm
    option_fields = frozenset({"types", "everybody"})
    operator_fields = frozenset({"everybody"})

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return the address of a webhook with {"types"} and, where it is set, {"everybody": true}."""
        webhook = super().destination(cleaned)
        followed = {"types": cleaned["types"]} | ({"everybody": True} if cleaned.get("everybody") else {})
        return replace(webhook, address={**webhook.address, **followed})

    def form_initial(self, destination: Destination) -> dict[str, Any]:
        types = destination.address.get("types")
        written = {"types": " ".join(map(str, types))} if isinstance(types, list) else {}
        return written | {"everybody": destination.address.get("everybody") is True}

    def document(self, message: Message, now: datetime) -> dict[str, Any]:
        """Return the change; a test or a code, which has none, is written as a webhook's message."""
        if (change := message.data) is None:
            return super().document(message, now)
        return {"id": change["id"], "type": change["type"], "timestamp": change["time"], "data": change["data"]}
