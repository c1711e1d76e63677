"""A channel in an answer, without its secrets, and the kinds that there are."""

from typing import Any, Literal
from uuid import UUID

from django import forms
from pydantic import BaseModel, Field

from api.protocol.answers import fields_of
from api.protocol.fields import Instant, example
from notifications import providers
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.providers.base import Provider

_EXAMPLE: Any = {
    "id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "kind": "webhook",
    "label": "Home server",
    "summary": "hooks.example.org/…",
    "state": "ready",
    "verified": "2026-03-28T09:00:00Z",
    "use_for_new": True,
    "created": "2026-03-28T08:58:00Z",
}


class ChannelDocument(BaseModel):
    """`state` is `unverified` until its code is entered. `fields` are those of its kind that hold no secret."""

    model_config = example(_EXAMPLE)

    id: UUID
    kind: str
    label: str
    summary: str = Field(description="The address in one line.")
    fields: dict[str, Any]
    state: Literal["ready", "unverified", "disabled"]
    verified: Instant | None
    disabled: Instant | None
    disabled_code: str
    disabled_reason: str
    may_enable: bool = Field(description="Whether `enable` works: an operator did not disable it.")
    failing_since: Instant | None = Field(description="Nothing has arrived since.")
    use_for_new: bool = Field(description="Whether the pages choose it for new reminders and rules.")
    on_unknown: str = Field(description="If the outcome is unknown: `retry`, `hold`, or empty for the kind's default.")
    give_up_after: int | None = Field(description="Seconds after the first try; null for the kind's own policy.")
    unreadable: str = Field(description="Why its secrets cannot be read; empty if they can.")
    created: Instant


class NewChannelDocument(ChannelDocument):
    """`secret` is the signing secret of a webhook. No other answer has it."""

    secret: str | None
    code_sent: bool = Field(description="Whether a code is on its way, to be entered with `verify`.")
    detail: str = Field(description="What comes next, or why no code was sent.")


class FieldDocument(BaseModel):
    """A field of `fields` in a body."""

    name: str
    label: str
    help: str
    required: bool
    max_length: int | None
    choices: list[str] | None


class KindDocument(BaseModel):
    kind: str
    label: str
    notice: str = Field(description="What to know of this installation's configuration.")
    fields: list[FieldDocument]


class Kinds(BaseModel):
    items: list[KindDocument]


def document(channel: Channel) -> dict[str, Any]:
    return fields_of(
        ChannelDocument,
        channel,
        kind=channel.provider,
        fields=_fields(channel),
        state="ready" if channel.state == "verified" else channel.state,
        verified=channel.verified_at,
        disabled=channel.disabled_at,
        may_enable=channel.is_owners_to_enable,
        created=channel.created_at,
    )


def _fields(channel: Channel) -> dict[str, Any]:
    """Empty for a kind that is not installed, and for an address that is damaged."""
    provider = providers.find(channel.provider)
    return provider.form_initial(Destination(channel.address)) if provider and isinstance(channel.address, dict) else {}


def kind_document(provider: Provider) -> dict[str, Any]:
    return {
        "kind": provider.kind,
        "label": str(provider.label),
        "notice": provider.notice(),
        "fields": field_documents(provider.form),
    }


def field_documents(form: type[forms.Form]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "label": str(field.label),
            "help": str(field.help_text),
            "required": field.required,
            "max_length": getattr(field, "max_length", None),
            "choices": choices_of(field),
        }
        for name, field in form.base_fields.items()
    ]


def choices_of(field: forms.Field) -> list[str] | None:
    choices: Any = getattr(field, "choices", None)
    return None if choices is None else [str(value) for value, _ in choices]
