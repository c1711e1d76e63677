"""Make, change and remove inbound addresses, and their form. The pages and the API call these."""

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.db import transaction
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from common.database import encryption
from common.database.encryption import hashed
from common.forms.edit_form import refuse
from common.forms.not_possible import NotPossible
from common.parsing import expressions, strict_json
from common.texts.refusal import Refusal
from common.texts.types import StrOrPromise
from common.uuid7 import uuid7
from events.models import InboundAddress
from events.pure import schemes
from people.models import User
from people.user_lock import lock_user

MOST = 20
"""Addresses of one person."""
_FIELDS = ("type", "source", "data", "time", "id", "correlation_id")
_OPTIONS = ("header", "algorithm", "encoding", "prefix")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}", re.ASCII)


class ExpressionField(forms.CharField):
    """An expression of JMESPath, or nothing."""

    def __init__(self, label: StrOrPromise, help_text: StrOrPromise = "") -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        super().__init__(label=label, help_text=help_text, required=False, widget=widget)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if text:
            try:
                expressions.compiled(text)
            except expressions.Invalid as error:
                raise forms.ValidationError(str(error), error.code) from None
        return text


class InboundForm(forms.Form):
    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("Shop"), "autocomplete": "off"}),
        error_messages={"required": gettext_lazy("Enter a label, such as “Shop”.")},
    )
    scheme = forms.ChoiceField(
        label=gettext_lazy("Signature"),
        choices=[(code, label) for code, (label, verify) in schemes.SCHEMES.items()],
        help_text=gettext_lazy("How the sender proves that a request is its own."),
    )
    secret = forms.CharField(
        label=gettext_lazy("Secret"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("As the sender shows it. It is stored encrypted, and never shown again."),
    )
    signature_header = forms.CharField(
        label=gettext_lazy("Header with the signature"), required=False, initial=schemes.Hmac().header
    )
    signature_algorithm = forms.ChoiceField(
        label=gettext_lazy("Hash"), required=False, choices=[(name, name.upper()) for name in schemes.ALGORITHMS]
    )
    signature_encoding = forms.ChoiceField(
        label=gettext_lazy("Written as"), required=False, choices=[(one, one) for one in schemes.ENCODINGS]
    )
    signature_prefix = forms.CharField(label=gettext_lazy("Text before the signature"), required=False, max_length=20)
    event_type = ExpressionField(
        gettext_lazy("Type"),
        gettext_lazy("Such as <code>'order.paid'</code> or <code>join('.', ['order', body.action])</code>."),
    )
    event_source = ExpressionField(gettext_lazy("Source"), gettext_lazy("Without it, the label."))
    event_data = ExpressionField(
        gettext_lazy("Data"), gettext_lazy("An object: <code>{amount: body.total}</code>. Without it, the whole body.")
    )
    event_time = ExpressionField(gettext_lazy("Time"), gettext_lazy("Without it, the sender's own, or when it came."))
    event_id = ExpressionField(
        gettext_lazy("Id"),
        gettext_lazy("The same when a request is repeated. What GitHub, Stripe and Standard Webhooks sign needs none."),
    )
    event_correlation_id = ExpressionField(
        gettext_lazy("Correlation id"),
        gettext_lazy("The same for all that belongs together. Without it, each request begins a chain."),
    )
    enabled = forms.BooleanField(label=gettext_lazy("Takes requests"), required=False, initial=True)

    def __init__(self, data: Mapping[str, Any] | None = None, *, address: InboundAddress | None = None) -> None:
        initial: dict[str, Any] = {}
        if address is not None:
            initial = {"label": address.label, "scheme": address.scheme, "enabled": address.enabled}
            initial |= {f"signature_{name}": value for name, value in address.options.items()}
            initial |= {f"event_{name}": value for name, value in address.fields.items()}
        super().__init__(data, initial=initial)
        self._scheme = None if address is None else address.scheme

    def clean_signature_header(self) -> str:
        header: str = self.cleaned_data["signature_header"]
        if header and not _HEADER.fullmatch(header):
            raise forms.ValidationError(_("Write the name of one header, such as X-Signature."), "one_header")
        return header

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        scheme, secret = cleaned.get("scheme"), cleaned.get("secret", "")
        if secret and scheme and (problem := _problem(scheme, secret)):
            refuse(self, "secret", *problem)
        elif not secret and scheme not in ("none", None, self._scheme):
            refuse(self, "secret", "required", _("Enter the secret that the sender signs with."))
        return cleaned

    def options(self) -> dict[str, str]:
        if self.cleaned_data["scheme"] != "hmac":
            return {}
        return self._named("signature_", _OPTIONS)

    def expressions(self) -> dict[str, str]:
        return self._named("event_", _FIELDS)

    def _named(self, group: str, names: Sequence[str]) -> dict[str, str]:
        return {name: self.cleaned_data[group + name] for name in names if self.cleaned_data[group + name]}

    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields behind the first three, for the page."""
        return [
            (_("HMAC in a header"), [self[f"signature_{name}"] for name in _OPTIONS]),
            (_("What becomes of a request"), [self[f"event_{name}"] for name in _FIELDS]),
        ]


def _problem(scheme: str, secret: str) -> tuple[str, str] | None:
    """Why a secret does not go with a scheme, as a code and a text; None if it does."""
    if scheme == "none":
        text = _("Without a signature there is no secret. Choose a signature, or leave this empty.")
        return "without_signature", text
    try:
        if scheme == "standard":
            schemes.standard_key(secret)
    except Refusal as refusal:
        return refusal.code, str(refusal)
    if schemes.is_enough(scheme, secret):
        return None
    text = _("This secret is too short. Have the sender sign with one of at least %(least)s characters.")
    return "too_short", text % {"least": schemes.SHORTEST_KEY}


class SampleForm(forms.Form):
    """A body to try the expressions on."""

    sample = forms.CharField(required=False, max_length=256 * 1024, strip=False)

    def clean_sample(self) -> Any:
        try:
            return strict_json.read(self.cleaned_data["sample"].encode("utf-8", "replace"), odd_numbers_as_text=True)
        except strict_json.Bad as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s") % {"error": error}, error.code) from None


def create(user: User, form: InboundForm, address_id: UUID | None = None) -> InboundAddress:
    """From a valid form. Raises NotPossible, and IntegrityError if `address_id`, from a form, exists already."""
    address = InboundAddress(id=address_id or uuid7(), user=user)
    _take(address, form)
    _seal(address, secrets.token_hex(24), form.cleaned_data["secret"])
    with lock_user(user):
        if InboundAddress.objects.for_user(user).count() >= MOST:
            text = _("You have %(most)s addresses, which is the limit. Remove one that you no longer need.")
            raise NotPossible(text % {"most": MOST})
        address.save(force_insert=True)
    return address


@transaction.atomic
def change(address: InboundAddress, form: InboundForm) -> None:
    """From a valid form; an empty secret stays as it is where the scheme does. Raises Http404 if it was removed."""
    lock(address)
    stored = _secrets(address)
    secret = form.cleaned_data["secret"] or (stored["secret"] if form.cleaned_data["scheme"] == address.scheme else "")
    _take(address, form)
    _seal(address, stored["token"], secret)
    address.save()


@transaction.atomic
def replace(address: InboundAddress) -> None:
    """Give it a new secret part; what is posted to the old one gets 404. Raises Http404 if it was removed."""
    lock(address)
    _seal(address, secrets.token_hex(24), _secrets(address)["secret"])
    address.save()


@transaction.atomic
def remove(address: InboundAddress) -> None:
    """With its last requests; its events stay. Raises Http404 if it was removed."""
    lock(address)
    address.delete()


def url(address: InboundAddress) -> str:
    """The whole secret address. Raises `encryption.Unreadable`."""
    return f"{settings.BASE_URL}{reverse('events:receive', args=[address.secrets()['token']])}"


def lock(address: InboundAddress) -> None:
    """Read it anew under a lock: what was replaced or removed meanwhile must not come back, nor get a request.

    Raises Http404 if it was removed.
    """
    try:
        address.refresh_from_db(from_queryset=InboundAddress.objects.select_for_update(no_key=True))
    except InboundAddress.DoesNotExist:
        raise Http404 from None


def _take(address: InboundAddress, form: InboundForm) -> None:
    cleaned = form.cleaned_data
    address.label, address.scheme, address.enabled = cleaned["label"], cleaned["scheme"], cleaned["enabled"]
    address.options, address.fields = form.options(), form.expressions()


def _seal(address: InboundAddress, token: str, secret: str) -> None:
    address.hashed = hashed(token)
    address.sealed_secrets = encryption.seal_secrets({"token": token, "secret": secret}, address.id)


def _secrets(address: InboundAddress) -> dict[str, str]:
    """Its secrets; where they cannot be read, a new address without a secret, which its owner enters again."""
    try:
        return address.secrets()
    except encryption.Unreadable:
        return {"token": secrets.token_hex(24), "secret": ""}
