"""Send a message, now or at a time."""

import json
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from api.protocol.access import ApiRequest
from api.protocol.answers import answer
from api.protocol.fields import Body, Data, Instant, Texts
from api.protocol.problems import FieldError, Problem, invalid, require_valid
from api.resources.notifications.status import router
from notifications.deliveries import send
from notifications.inputs.channels_form import ChannelsField
from notifications.messages import text
from notifications.models import Channel
from notifications.models.channel import verified
from people.models import User
from schedules.inputs.reminder_form import ReminderForm

__all__ = ["router"]

_FURTHEST = timedelta(days=366)
_EXAMPLE: Any = {
    "title": "The backup is done",
    "body": "42 GB in 12 minutes.",
    "channels": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "category": "backup",
    "data": {"gigabytes": 42},
}


class MessageBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    title: str = Field(description="Sent as it is.", json_schema_extra={"minLength": 1, "maxLength": text.MAX_SUBJECT})
    body: str = Field("", description="Sent as it is.", json_schema_extra={"maxLength": text.MAX_BODY})
    channels: Texts = Field(
        description="Ids of your channels. Each gets the message.", json_schema_extra={"minItems": 1}
    )
    send_at: Instant | None = Field(None, description="Not before this; at most a year ahead. Without it, now.")
    urgent: bool = Field(False, description="Also sent during your quiet hours.")
    category: str = Field(
        "",
        description="A word of yours. Webhooks get it.",
        json_schema_extra={"pattern": "^[-a-zA-Z0-9_]*$", "maxLength": 50},
    )
    data: Data = Field(None, description="An object of yours, up to 16 KiB. Webhooks get it.")


class Accepted(BaseModel):
    """`id` is the notification's. Each delivery is one channel's."""

    id: UUID
    batch_id: UUID
    deliveries: list[UUID]


class MessageForm(forms.Form):
    """Texts and channels with the limits and the words of the reminder's form, without its placeholders."""

    title = forms.CharField(
        max_length=text.MAX_SUBJECT, error_messages=ReminderForm.base_fields["title"].error_messages
    )
    body = forms.CharField(
        required=False,
        max_length=text.MAX_BODY,
        error_messages={"max_length": "This text is %(show_value)d characters long; at most %(limit_value)d are sent."},
    )
    channels = ChannelsField()
    category = forms.SlugField(
        required=False, max_length=50, error_messages=ReminderForm.base_fields["category"].error_messages
    )

    def __init__(self, data: dict[str, Any], user: User) -> None:
        super().__init__(data)
        own = Channel.objects.for_messages().filter(verified(), user=user)
        cast(ChannelsField, self.fields["channels"]).own = list(own)

    def clean_title(self) -> str:
        """A subject is one line."""
        return " ".join(self.cleaned_data["title"].split())


@router.post("", response={202: Accepted}, summary="Send a message")
def send_message(request: ApiRequest, body: MessageBody) -> HttpResponse:
    """To verified channels of yours. Waits for the end of your quiet hours, unless it is urgent."""
    user, now = request.auth.user, timezone.now()
    form = MessageForm(body.model_dump(include={"title", "body", "channels", "category"}), user)
    if body.send_at is not None and not now <= body.send_at <= now + _FURTHEST:
        passed = "This time has passed. Leave it out to send now."
        raise invalid(FieldError("send_at", passed if body.send_at < now else "Choose a time within a year."))
    require_valid(form)
    data = None if body.data is None else json.dumps(body.data)
    try:
        sent = send.send(user, now, **form.cleaned_data, send_at=body.send_at, urgent=body.urgent, data=data)
    except send.TooMany as refusal:
        raise Problem(429, "too-many-messages", "This message was not sent.", str(refusal)) from None
    accepted = {
        "id": str(sent.notification_id),
        "batch_id": str(sent.batch_id),
        "deliveries": [str(key) for key in sent.deliveries],
    }
    return answer(accepted, 202, Location=reverse("api:read_notification", args=[sent.notification_id]))
