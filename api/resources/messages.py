"""Send a message to channels of one's own."""

import json
from typing import Any, cast
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.utils import timezone
from pydantic import BaseModel, Field

from api.protocol.access import ApiRequest
from api.protocol.answers import answer, fields_of, of
from api.protocol.fields import Data, FormBody, Instant, Texts, limited
from api.protocol.problems import FieldError, Problem, require_valid
from api.resources.notifications import router as router
from common.times import snooze
from notifications.deliveries import send
from notifications.inputs.channels_form import ChannelsField
from notifications.messages import text
from notifications.models import Channel
from notifications.models.channel import verified
from people.models import User
from schedules.inputs.reminder_form import ReminderForm


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
    channels = ChannelsField("Channels")
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


class NotificationBody(FormBody):
    model_config = limited(MessageForm)

    title: str = Field(description="Sent as it is.", json_schema_extra={"minLength": 1})
    body: str = Field("", description="Sent as it is.")
    channel_ids: Texts = Field(
        description="Ids of your channels. Each gets the message.", json_schema_extra={"minItems": 1}
    )
    send_at: Instant | None = Field(None, description="Not before this; at most a year ahead. Without it, now.")
    urgent: bool = False
    category: str = Field("", description="A word of yours. Webhooks get it.")
    data: Data = Field(None, description="An object of yours, up to 16 KiB. Webhooks get it.")


class Accepted(BaseModel):
    id: UUID = of("notification_id", "The notification's, for `GET /notifications/{notification_id}`.")
    batch_id: UUID
    delivery_ids: list[UUID] = of("deliveries", "The id of each delivery: one for each channel.")


@router.post("", response={202: Accepted}, summary="Send a message")
def send_message(request: ApiRequest, body: NotificationBody) -> HttpResponse:
    """To verified channels of yours. Waits for the end of your quiet hours, unless it is urgent."""
    user, now = request.auth.user, timezone.now()
    form = MessageForm(body.model_dump(include={"title", "body", "category"}) | {"channels": body.channel_ids}, user)
    if body.send_at is not None:
        try:
            snooze.check(body.send_at, now, snooze.FURTHEST)
        except snooze.InvalidSnooze as error:
            detail = "This time has passed. Leave it out to send now." if error.code == "passed" else str(error)
            body.refuse(FieldError("send_at", detail, error.code))
    require_valid(body, form)
    data = None if body.data is None else json.dumps(body.data)
    try:
        sent = send.send(user, now, **form.cleaned_data, send_at=body.send_at, urgent=body.urgent, data=data)
    except send.TooManyMessages as refusal:
        raise Problem(429, "too-many-messages", "This message was not sent.", str(refusal)) from None
    return answer(fields_of(Accepted, sent), 202, Location=f"{request.path}/{sent.notification_id}")
