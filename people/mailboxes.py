"""The mailbox behind an email address: how much is sent there, and whether its reader has refused more.

A stranger may type anybody's address. What holds for a mailbox holds across accounts, and across the ways in which
an address is written.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from enum import StrEnum

from allauth.account.models import EmailAddress
from allauth.core.internal import ratelimit
from django.core.exceptions import ValidationError

from people.models import RefusedMailbox

REFUSED = (
    "The reader of this address wants no more email from Carillon. Use another address, or allow it again by the link "
    "in the message that arrived there."
)


class Purpose(StrEnum):
    """Why a mail is sent. Each has a limit of its own, so that exhausting one does not hold back another."""

    CONFIRMATION = "confirmation"
    CODE = "code"
    RECOVERY = "recovery"
    NOTICE = "notice"


MAILS_A_DAY = 5
"""What anybody can have sent to one mailbox for one purpose."""

_RATES = dict.fromkeys(Purpose, f"{MAILS_A_DAY}/d/key") | {Purpose.NOTICE: "30/d/key"}


# Gmail ignores dots: without this, a mailbox there has thousands of addresses, each with limits of its own.
_WITHOUT_DOTS = {"gmail.com", "googlemail.com"}


def mailbox(address: str) -> str:
    """Return `address` without what mail servers ignore: case, quotes, a tag after `+`, and the domain's spelling."""
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
    """Whether one more may be sent to `recipient` within 24 hours; if so, it is counted.

    `recipient` is a `mailbox`, or another name of where a code goes. Counted in the cache, which fails open.
    """
    consumed = ratelimit.consume(
        None, app="people", action="recipient", config={"recipient": _RATES[purpose]}, key=f"{purpose}:{recipient}",
        limit_get=True,
    )  # fmt: skip
    return consumed is not None


def refuse(address: str) -> None:
    """Send nothing more to this mailbox, whoever asks, save to an account that has confirmed it."""
    RefusedMailbox.objects.get_or_create(mailbox=mailbox(address))


def allow(address: str) -> None:
    """Undo `refuse`."""
    RefusedMailbox.objects.filter(mailbox=mailbox(address)).delete()


def is_refused(address: str) -> bool:
    return RefusedMailbox.objects.filter(mailbox=mailbox(address)).exists()


def is_confirmed(address: str) -> bool:
    """Whether an account has shown that it reads mail to this address."""
    return bool(EmailAddress.objects.filter(email=address.lower(), verified=True).exists())


def check_not_refused(address: str) -> None:
    """Raises ValidationError."""
    if is_refused(address):
        raise ValidationError(REFUSED)
