"""Limits and refusals for a mailbox, across all accounts and all spellings of its address.

Strangers can enter anybody's address, so limits by account are not enough.
"""

import re
import unicodedata
from contextlib import suppress
from enum import StrEnum

from allauth.account.models import EmailAddress
from allauth.core.internal import ratelimit
from django.utils.translation import gettext_lazy as _

from people.models import RefusedMailbox, User

REFUSED = _(
    "This address has refused emails from Carillon. Use another address, or allow it again with the link in the "
    "email that was sent there."
)


class Purpose(StrEnum):
    """Why an email is sent; each purpose has its own limit."""

    CONFIRMATION = "confirmation"
    CODE = "code"
    RECOVERY = "recovery"
    NOTICE = "notice"
    CHANGED = "changed"  # to the former address, with a link that undoes it: no other email uses up its limit
    INVITED = "invited"  # to a team, by its owner
    ADDED = "added"  # to a topic, by its owner
    SUBSCRIPTION = "subscription"  # to a status page, to be confirmed


MAILS_A_DAY = 5
"""The limit for one mailbox and purpose."""

_RATES = dict.fromkeys(Purpose, f"{MAILS_A_DAY}/d/key") | dict.fromkeys((Purpose.NOTICE, Purpose.ADDED), "30/d/key")


# Gmail ignores dots: without this, a mailbox there has thousands of addresses, each with separate limits.
_WITHOUT_DOTS = {"gmail.com", "googlemail.com"}


def mailbox(address: str) -> str:
    """Normalize `address`: drop case, quotes and a `+` tag, and encode the domain."""
    local, _, domain = unicodedata.normalize("NFKC", address).casefold().rpartition("@")
    if local.startswith('"'):
        local = re.sub(r"\\(.)", r"\1", local[1:-1])
    with suppress(UnicodeError):
        domain = domain.encode("idna").decode()
    local = local.partition("+")[0] or local
    if domain in _WITHOUT_DOTS:
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"


def may_send(purpose: Purpose, recipient: str) -> bool:
    """Count one more email within 24 hours; False if the limit is reached. While Redis is down, each process counts.

    `recipient` is a `mailbox`, or another identifier of a recipient of codes.
    """
    consumed = ratelimit.consume(
        None, app="people", action="recipient", config={"recipient": _RATES[purpose]}, key=f"{purpose}:{recipient}",
        limit_get=True,
    )  # fmt: skip
    return consumed is not None


def refuse(address: str) -> None:
    """Send nothing more to this mailbox, except for accounts that have confirmed it."""
    RefusedMailbox.objects.get_or_create(mailbox=mailbox(address))


def allow(address: str) -> None:
    RefusedMailbox.objects.filter(mailbox=mailbox(address)).delete()


def is_refused(address: str) -> bool:
    return RefusedMailbox.objects.filter(mailbox=mailbox(address)).exists()


def is_confirmed(address: str, by: User | None = None) -> bool:
    """Whether an account, or this one, has confirmed this address."""
    rows = EmailAddress.objects.filter(email=address.lower(), verified=True)
    return bool((rows if by is None else rows.filter(user=by)).exists())
