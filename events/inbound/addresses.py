"""Make, change and remove inbound addresses. The pages and the API call these."""

import secrets
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from common.database import encryption
from common.database.encryption import hashed
from common.forms.not_possible import NotPossible
from common.uuid7 import uuid7
from events.inbound.forms import InboundForm
from events.models import InboundAddress
from people.models import User
from people.user_lock import lock_user

MOST = 20
"""Addresses of one person."""


def create(user: User, form: InboundForm, address_id: UUID | None = None) -> InboundAddress:
    """From a valid form. Raises NotPossible, and IntegrityError if `address_id`, from a form, exists already."""
    address = InboundAddress(id=address_id or uuid7(), user=user)
    _take(address, form)
    _seal(address, secrets.token_hex(24), form.cleaned_data["secret"])
    with lock_user(user):
        if InboundAddress.objects.for_user(user).count() >= MOST:
            raise NotPossible(
                _("You have %(most)s addresses, which is the limit. Remove one that you no longer need.")
                % {"most": MOST}
            )
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
