"""The bodies of a channel: their shape here, their validity by the forms that the pages use."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from api.protocol.fields import Body, FewNames, limited
from api.protocol.problems import FieldError, errors, invalid, require_valid
from notifications import providers
from notifications.channels import changes
from notifications.channels.forms import ChannelForm, LabelForm, change_form
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.net import address_checks
from notifications.providers.base import Provider
from people.models import User

_NEW: Any = {"kind": "webhook", "label": "Home server", "fields": {"url": "https://hooks.example.org/carillon"}}
Fields = Annotated[dict[str, str | int | None], FewNames]


class NewChannel(Body):
    model_config = limited(LabelForm, _NEW)

    kind: str = Field(
        max_length=100,
        description="`GET /channels/kinds` describes each.",
        json_schema_extra={"enum": [provider.kind for provider in providers.all()]},
    )
    label: str = Field("", description="Without one, the name of the kind.")
    fields: Annotated[dict[str, str | int], FewNames] = Field(
        {}, description="The fields of its kind, secrets among them."
    )


class ChannelPatch(Body):
    """Fields that are not given stay as they are. Another address must be verified again."""

    model_config = limited(LabelForm, {"label": "Phone", "on_unknown": "hold"})

    # Absent, never null.
    label: str = Field(None, json_schema_extra={"minLength": 1})  # type: ignore[assignment]
    use_for_new: bool = Field(
        None,  # type: ignore[assignment]
        description="Whether the pages choose it for new reminders and rules.",
    )
    on_unknown: str = Field(
        None,  # type: ignore[assignment]
        description="`retry`, `hold`, or empty: its kind's.",
        json_schema_extra={"enum": ["", *Channel.OnUnknown.values]},
    )
    give_up_after: int | None = Field(
        None,
        description="Seconds after the first try; null: its kind's own policy.",
        json_schema_extra={"enum": [None, *Channel.GiveUp.values]},
    )
    fields: Fields = Field(None, description="Null deletes an optional value.")  # type: ignore[arg-type]


def provider_of(kind: str) -> Provider:
    """Raises a 422 problem for a kind that there is not."""
    try:
        return providers.get(kind)
    except providers.UnknownProvider as error:
        raise invalid(FieldError("kind", str(error))) from None


def cleaned(body: NewChannel, user: User, *, visits: bool) -> tuple[Mapping[str, Any], str]:
    """The provider's cleaned data, and the label; `visits` as in `address_checks`. Raises a 422 problem."""
    provider = provider_of(body.kind)
    refuse_unknown(body.fields, provider.form.base_fields)
    details, label = provider.form(body.fields), LabelForm({"label": body.label})
    if not address_checks.are_valid(user.pk, details, label, visits=visits):
        raise invalid(*errors(details, "fields"), *errors(label))
    return details.cleaned_data, label.cleaned_data["label"]


def settings_of(body: ChannelPatch, channel: Channel) -> ChannelForm:
    """The form of the settings, with the stored values where the body has none."""
    provider = provider_of(channel.provider)
    stored = {name: getattr(channel, name) for name in ChannelForm.base_fields}
    given = body.model_dump(exclude_unset=True, include={*stored})
    form = ChannelForm(stored | given, channel, provider)
    if unknown := sorted(given.keys() - form.fields.keys()):
        raise invalid(*(FieldError(name, f"A channel of the kind “{provider.kind}” has none.") for name in unknown))
    return form


def changed(body: ChannelPatch, channel: Channel, user: User) -> tuple[Destination | None, Mapping[str, Any]]:
    """The new destination (None: it stays), and the cleaned settings. Raises a 422 problem."""
    settings = settings_of(body, channel)
    if "fields" not in body.model_fields_set:
        require_valid(settings)
        return None, settings.cleaned_data
    provider, stored = provider_of(channel.provider), changes.readable_destination(channel)
    offered = change_form(None, provider, stored)
    refuse_unknown(body.fields, [name for name in offered.fields if name in provider.form.base_fields])
    typed: dict[str, Any] = dict(offered.initial)
    for name, value in body.fields.items():
        typed[name] = "" if value is None else value
        # An empty secret is kept; a separate field deletes it.
        if value is None and f"drop_{name}" in offered.fields:
            typed[f"drop_{name}"] = True
    details = change_form(typed, provider, stored)
    if not address_checks.are_valid(user.pk, details, settings):
        raise invalid(*errors(details, "fields"), *errors(settings))
    return provider.update(stored, details.cleaned_data), settings.cleaned_data


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises a 422 problem for fields that a kind of channel or connection does not have."""
    if unknown := sorted(set(given) - set(known)):
        said = f"There is no such field. This kind has: {', '.join(known) or 'none'}."
        raise invalid(*(FieldError(f"fields.{name}", said) for name in unknown))
