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
from notifications.inputs.text_fields import BodyField, TitleField
from notifications.models import Channel
from notifications.models.channel import verified
from people.models import User
from schedules.inputs.reminder_form import ReminderForm


def _nothing(text: str) -> list[str]:
    return []


class MessageForm(forms.Form):
    """Texts and channels as in the reminder's form, without its placeholders."""

    title = TitleField(check=_nothing, example="Water the plants")
    body = BodyField(check=_nothing, help_text="")
    channels = ChannelsField("Channels")
    category = ReminderForm.base_fields["category"]

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
