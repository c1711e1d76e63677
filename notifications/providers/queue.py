"""Queues: the owner's programs pull the messages over the API, see `deliveries.pull`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import WholeNumberField
from common.texts.types import StrOrPromise
from notifications.messages.message import Destination, Message, Rejected
from notifications.providers.base import Provider
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason


class _Number(WholeNumberField):
    """Empty stands for the initial value."""

    def __init__(self, label: StrOrPromise, least: int, most: int, initial: int, help_text: StrOrPromise) -> None:
        error = format_lazy(gettext_lazy("Use a whole number from {least} to {most}."), least=least, most=most)
        super().__init__(label, least, most, error, initial=initial, help_text=help_text)

    def clean(self, value: Any) -> int:
        typed = super().clean(value)
        return int(self.initial if typed is None else typed)

    def read(self, stored: object) -> int:
        try:
            return self.clean(stored)
        except forms.ValidationError:
            return int(self.initial)


class _Switch(forms.BooleanField):
    def read(self, stored: object) -> bool:
        return stored is True


class QueueForm(forms.Form):
    batch_size = _Number(
        gettext_lazy("Largest batch"), 1, 100, 100, gettext_lazy("How many messages one pull returns at most.")
    )
    concurrency = _Number(
        gettext_lazy("Messages at once"),
        1,
        250,
        250,
        gettext_lazy(
            "How many messages your programs may hold at once. "
            "With 1, they come strictly one after the other, in order."
        ),
    )
    tries = _Number(
        gettext_lazy("Tries"),
        1,
        100,
        5,
        gettext_lazy("A message that was handed out so often without success has failed."),
    )
    batch_timeout = _Number(
        gettext_lazy("Wait for a full batch"),
        0,
        60,
        0,
        gettext_lazy("Seconds for which a message waits for others. 0: it is handed out at once."),
    )
    cloudevents = _Switch(
        label="CloudEvents",
        required=False,
        help_text=gettext_lazy("Each message is a CloudEvent 1.0, in JSON. Without it, a Standard Webhook."),
    )


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
        fields: dict[str, Any] = QueueForm.base_fields
        return cls(**{name: field.read(address.get(name)) for name, field in fields.items()})


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
