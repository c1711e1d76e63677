"""A channel in bodies and answers, without its secrets there, and the kinds that there are."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, cast
from uuid import UUID

from django import forms
from django.forms.utils import pretty_name
from pydantic import BaseModel, Field

from api.protocol.answers import of
from api.protocol.fields import FewNames, FormBody, Instant, Partial, Replacement, limited, one_error, one_of
from api.protocol.problems import FieldError, invalid, require_valid
from api.resources.notifications import ReasonDocument, reason
from notifications import providers
from notifications.channels.forms import ChannelForm, LabelForm, change_form
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.net import address_checks
from notifications.providers.base import Provider
from people.models import User


def disabled_reason(channel: Channel) -> dict[str, Any]:
    return reason(channel.disabled_code, channel.disabled_params)


class ChannelDocument(BaseModel):
    id: UUID
    kind: str = of("provider")
    label: str
    summary: str = Field(description="The address in one line.")
    fields: dict[str, Any] = of(lambda channel: _fields(channel))
    state: Literal["ready", "unverified", "disabled"] = of(
        lambda channel: "ready" if channel.state == "verified" else channel.state,
        "`unverified` until its code is entered.",
    )
    verified_at: Instant | None
    disabled_at: Instant | None
    disabled_reason: ReasonDocument = of(disabled_reason)
    may_enable: bool = of("is_owners_to_enable", "Whether `enable` works: an operator did not disable it.")
    failing_started_at: Instant | None = of("failing_since", "Nothing has arrived since.")
    use_for_new: bool = Field(description="Whether the pages choose it for new reminders and rules.")
    on_unknown: Annotated[str, one_of(["", *Channel.OnUnknown.values])] = Field(
        description="What to do if the outcome is unknown; empty: what its kind does."
    )
    give_up_after: int | None = Field(description="Seconds after the first try; null for the kind's own policy.")
    unreadable: str = Field(description="Why its secrets cannot be read; empty if they can.")
    created_at: Instant


class NewChannelDocument(ChannelDocument):
    secret: str | None = Field(description="The new signing secret of a webhook, else null. No other answer has it.")
    code_sent: bool = Field(description="Whether a code is on its way, to be entered with `verify`.")
    detail: str = Field(description="What comes next, or why no code was sent.")


class FieldDocument(BaseModel):
    """A field of `fields` in a body."""

    name: str = Field(description="What it is called in `fields`.")
    label: str
    help: str
    required: bool = Field(description="Whether it must have a value.")
    max_length: int | None = Field(description="The most characters that it takes; null: without a limit.")
    choices: list[str] | None = Field(description="Its possible values; null: any.")


class KindDocument(BaseModel):
    kind: str
    label: str
    notice: str = of(lambda provider: provider.notice(), "What to know of this installation's configuration.")
    fields: list[FieldDocument] = of(
        lambda provider: field_documents(provider.form), "The `fields` that a new one takes."
    )


def _fields(channel: Channel) -> dict[str, Any]:
    """Empty for a kind that is not installed, and for an address that is damaged."""
    provider = providers.find(channel.provider)
    return provider.form_initial(Destination(channel.address)) if provider and isinstance(channel.address, dict) else {}


def field_documents(form: type[forms.Form]) -> list[dict[str, Any]]:
    return [
        field_document(name, field) | {"max_length": getattr(field, "max_length", None)}
        for name, field in form.base_fields.items()
    ]


def field_document(name: str, field: forms.Field) -> dict[str, Any]:
    choices: Any = getattr(field, "choices", None)
    return {
        "name": name,
        "label": field.label or pretty_name(name),
        "help": field.help_text,
        "required": field.required,
        "choices": None if choices is None else [str(value) for value, _ in choices],
    }


Kind = TypeVar("Kind")


class NewChannel(FormBody):
    model_config = limited(LabelForm)

    kind: str = Field(
        max_length=100,
        description="`GET /channels/kinds` describes each.",
        json_schema_extra={"enum": [provider.kind for provider in providers.all()]},
    )
    label: str = Field("", description="Without one, the name of the kind.")
    fields: Annotated[dict[str, Annotated[str | int, one_error("string_type")]], FewNames] = Field(
        {}, description="The fields of its kind, secrets among them."
    )


class ChannelPatch(Partial, Replacement):
    """Fields that are not given stay as they are. Another address must be verified again."""

    model_config = limited(LabelForm)

    label: str = Field(json_schema_extra={"minLength": 1})
    use_for_new: bool = Field(description="Whether the pages choose it for new reminders and rules.")
    on_unknown: str = Field(
        description="`retry`, `hold`, or empty: its kind's.",
        json_schema_extra={"enum": ["", *Channel.OnUnknown.values]},
    )
    give_up_after: int | None = Field(
        description="Seconds after the first try; null: its kind's own policy.",
        json_schema_extra={"enum": [None, *Channel.GiveUp.values]},
    )
    fields: Annotated[dict[str, Annotated[str | int | bool | None, one_error("string_type")]], FewNames] = Field(
        description="Null deletes an optional value."
    )


def provider_of(kind: str) -> Provider:
    """Raises a 422 problem for a kind that there is not."""
    try:
        return providers.get(kind)
    except providers.UnknownProvider as error:
        raise invalid(FieldError("kind", str(error))) from None


def require_kind(kind: Kind | None, body: Any, detail: str, code: str = "") -> Kind:
    """The kind of a new channel or connection. Raises a 422 problem if there is none."""
    if kind is None:
        body.refuse(FieldError("kind", detail, code))
        require_valid(body, LabelForm({"label": body.label}))
    return cast(Kind, kind)


def cleaned(body: NewChannel, user: User, *, visits: bool) -> tuple[Mapping[str, Any], str]:
    """The provider's cleaned data, and the label; `visits` as in `address_checks`. Raises a 422 problem."""
    provider = require_kind(providers.find(body.kind), body, str(providers.UnknownProvider(body.kind)))
    details, label = provider.form(body.fields), LabelForm({"label": body.label})
    refuse_unknown(body, body.fields, provider.form.base_fields)
    check = partial(address_checks.are_valid, user.pk, details, label, visits=visits and not body.wrong)
    require_valid(body, label, fields=details, check=check)
    return details.cleaned_data, label.cleaned_data["label"]


def settings_of(body: ChannelPatch, channel: Channel) -> ChannelForm:
    """The form of the settings, with the stored values where the body has none."""
    provider = provider_of(channel.provider)
    stored = {name: getattr(channel, name) for name in ChannelForm.base_fields}
    given = body.model_dump(exclude_unset=True, include={*stored})
    form = ChannelForm(stored | given, channel, provider)
    given = {name: value for name, value in given.items() if value != stored[name]}
    unknown = sorted(given.keys() - form.fields.keys())
    body.refuse(*(FieldError(name, f"A channel of the kind “{provider.kind}” has none.") for name in unknown))
    return form


def changed(body: ChannelPatch, channel: Channel, user: User) -> tuple[Destination | None, Mapping[str, Any]]:
    """The new destination (None: it stays), and the cleaned settings. Raises a 422 problem."""
    settings = settings_of(body, channel)
    if not body.fields:
        require_valid(body, settings)
        return None, settings.cleaned_data
    provider, stored = provider_of(channel.provider), channel.readable_destination()
    offered = change_form(None, provider, stored)
    refuse_unknown(body, body.fields, [name for name in offered.fields if name in provider.form.base_fields])
    details = change_form(changed_fields(offered.initial, body.fields), provider, stored)
    check = partial(address_checks.are_valid, user.pk, details, settings, visits=not body.wrong)
    require_valid(body, settings, fields=details, check=check)
    return provider.update(stored, details.cleaned_data), settings.cleaned_data


def changed_fields(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind's form after a patch. An empty secret is kept; null deletes it, by a separate field."""
    deleted = [name for name, value in given.items() if value is None]
    return {**stored, **given, **dict.fromkeys(deleted, ""), **{f"drop_{name}": True for name in deleted}}


def refuse_unknown(body: FormBody, given: Iterable[str], existing: Iterable[str]) -> None:
    """Refuse fields that a kind of channel or connection does not have."""
    detail = f"There is no such field. This kind has: {', '.join(existing) or 'none'}."
    body.refuse(*(FieldError(f"fields.{name}", detail) for name in sorted(set(given) - set(existing))))
