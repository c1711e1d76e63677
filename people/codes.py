"""Verification codes: create, insert into the sent message, check.

A code is derived from its row and SECRET_KEY, so no table or page holds it. Stored texts have `MARK` in its place.
"""

import re
import secrets
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from common.forms.not_possible import NotPossible
from people.models import Code

MARK = "••••-••••"
TRIES = 5
LIFE = timedelta(minutes=15)
PAUSE = timedelta(seconds=60)


class TooSoon(NotPossible):
    """A code was sent less than a minute ago."""


class Spent(NotPossible):
    """The code has expired or was tried too often."""


@transaction.atomic
def renew(subject: UUID, now: datetime) -> None:
    """Replace the code for `subject` with a new one. Raises TooSoon."""
    code, made = Code.objects.select_for_update(no_key=True).get_or_create(subject=subject, defaults=_fresh(now))
    if made:
        return
    pause(code.made_at, now)
    Code.objects.filter(subject=subject).update(**_fresh(now))


def pause(last: datetime, now: datetime) -> None:
    """Raise TooSoon if the last code was sent (`last`, aware) less than `PAUSE` ago."""
    if (wait := last + PAUSE - now) > timedelta(0):
        text = _("A code was just sent. Wait %(seconds)s s before you request another.")
        raise TooSoon(text % {"seconds": max(1, round(wait.total_seconds()))})


def check(subject: UUID, typed: str, now: datetime) -> bool:
    """Whether `typed` is the code, which works once. Each try is counted before it is checked.

    Raises Spent after `TRIES` of them or `LIFE`, and where the same code is used at this moment.
    """
    usable = Code.objects.filter(subject=subject, tries__lt=TRIES, made_at__gt=now - LIFE)
    code = Code.objects.filter(subject=subject).first() if usable.update(tries=F("tries") + 1) else None
    right = code is not None and constant_time_compare(_digits(subject, code.nonce), re.sub(r"\D", "", typed))
    if code is None or (right and not Code.objects.filter(subject=subject, nonce=code.nonce).delete()[0]):
        text = _("This code has expired. It is valid for 15 minutes and %(tries)s tries. Request a new one.")
        raise Spent(text % {"tries": TRIES})
    return right


def forget(subject: UUID) -> None:
    Code.objects.filter(subject=subject).delete()


def reveal(text: str, subject: UUID, nonce: str) -> str:
    """Replace `MARK` in `text` with the digits, for sending."""
    digits = _digits(subject, nonce)
    return text.replace(MARK, f"{digits[:4]}-{digits[4:]}")


def _fresh(now: datetime) -> dict[str, object]:
    return {"nonce": secrets.token_urlsafe(24), "made_at": now, "tries": 0}


def _digits(subject: UUID, nonce: str) -> str:
    keyed = salted_hmac("people.codes", f"{subject}:{nonce}", algorithm="sha256").digest()
    return f"{int.from_bytes(keyed) % 10**8:08}"
