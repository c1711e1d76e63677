"""Queues: the owner's programs pull the messages over the API, see `deliveries.pull`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import WholeNumberField
from notifications.messages.message import Destination, Message, Rejected
from notifications.providers.base import Provider
from notifications.providers.webhook import CLOUD_EVENTS
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason


class QueueForm(forms.Form):
    batch_size = WholeNumberField(
        gettext_lazy("Largest batch"),
        1,
        100,
        empty=100,
        help_text=gettext_lazy("How many messages one pull returns at most."),
    )
    concurrency = WholeNumberField(
        gettext_lazy("Messages at once"),
        1,
        250,
        empty=250,
        help_text=gettext_lazy(
            "How many messages your programs may hold at once. "
            "With 1, they come strictly one after the other, in order."
        ),
    )
    tries = WholeNumberField(
        gettext_lazy("Tries"),
        1,
        100,
        empty=5,
        help_text=gettext_lazy("A message that was handed out so often without success has failed."),
    )
    batch_timeout = WholeNumberField(
        gettext_lazy("Wait for a full batch"),
        0,
        60,
        empty=0,
        help_text=gettext_lazy("Seconds for which a message waits for others. 0: it is handed out at once."),
    )
    cloudevents = CLOUD_EVENTS


@dataclass(frozen=True, slots=True)
class Settings:
    """Of one queue; `batch_timeout` is in seconds."""

    batch_size: int
    concurrency: int
    tries: int
    batch_timeout: int
    cloudevents: bool = False

    @classmethod
    def read(cls, address: Mapping[str, Any]) -> Settings:
        """From a channel's address. A damaged value counts as the initial one, so that the queue can be pulled."""
        numbers = {}
        for name in ("batch_size", "concurrency", "tries", "batch_timeout"):
            field = QueueForm.base_fields[name]
            try:
                numbers[name] = field.clean(address.get(name))
            except forms.ValidationError:
                numbers[name] = field.initial
        return cls(**numbers, cloudevents=address.get("cloudevents") is True)


class Queue(Provider):
    """Keeps messages until a program pulls them. No worker sends them."""

    kind = "queue"
    label = gettext_lazy("Queue")
    about = gettext_lazy("Keeps messages until your own programs pull them over the API. Carillon sends nothing.")
    position = 190
    recognises_repeats = True
    separate_answer_url = True
    disturbs = False
    is_pulled = True
    form = QueueForm
    option_fields = frozenset(QueueForm.base_fields)

    def summary(self, destination: Destination) -> str:
        queue = Settings.read(destination.address)
        if queue.concurrency == 1:
            return _("Pulled by your programs, one message at a time")
        return _("Pulled by your programs, up to %(count)s messages at once") % {"count": queue.concurrency}

    def send(self, message: Message, destination: Destination) -> Answer:
        return Rejected(Reason(DeliveryCode.PULLED))
