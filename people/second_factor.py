"""The second factor at sign-in: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for when it is lost.

allauth keeps a row for each (`Authenticator`); the secret in it is sealed. Whether a session has shown a factor is
asked of the rows that there are now, so that one that was removed opens nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import qrcode
from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from common import encryption
from people.models import User

_SEALED = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}
_QUIET_ZONE = 4  # modules around a QR code (ISO/IEC 18004)


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is not right. Each lasts for 30 seconds and works once: take the one that your "
        "app shows now. If none works, compare the clock of your device.",
        "cannot_generate_recovery_codes": "Recovery codes stand in for an app. Set up an app first.",
    }

    def encrypt(self, text: str) -> str:
        return encryption.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises `sealing.Unreadable`."""
        return encryption.unseal(encrypted_text)

    def build_totp_svg(self, url: str) -> str:
        """The QR code as an `<svg>` without a style of its own, so that the Content-Security-Policy lets it stand."""
        code = qrcode.QRCode(border=_QUIET_ZONE)
        code.add_data(url)
        rows = code.get_matrix()
        path = "".join(f"M{x} {y}h{length}v1h-{length}z" for y, row in enumerate(rows) for x, length in _runs(row))
        return (
            f'<svg class="qr" viewBox="0 0 {len(rows)} {len(rows)}" role="img" aria-label="QR code">'
            f'<path d="{path}"/></svg>'
        )


def _runs(row: list[bool]) -> Iterator[tuple[int, int]]:
    """(first, length) of each run of dark modules."""
    x = 0
    for dark, modules in groupby(row):
        length = len(list(modules))
        if dark:
            yield x, length
        x += length


def is_set_up(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())


def was_shown(request: HttpRequest, user: User) -> bool:
    """Whether whoever is signed in here has shown a second factor that the person still has."""
    shown = {record["id"] for record in get_authentication_records(request, user) if record["method"] == "mfa"}
    return bool(shown) and bool(Authenticator.objects.filter(user=user, pk__in=shown).exists())


def remove(user: User) -> bool:
    """Take the second factor from somebody who lost it, recovery codes and all; False where there was none."""
    return bool(Authenticator.objects.filter(user=user).delete()[0])


@receiver(authenticator_added)
def _shown_by_setting_up(request: HttpRequest, user: User, authenticator: Any, **_: object) -> None:
    """Setting up an app takes a code of it: the session has shown it."""
    if authenticator.type == Authenticator.Type.TOTP:
        record_authentication(request, user, "mfa", id=authenticator.pk, type=authenticator.type)


@dataclass(frozen=True, slots=True)
class Rotated:
    """What became of the sealed secrets; `unreadable` are the people whose no key opens, left as they are."""

    sealed: int
    sealed_before: int
    unreadable: tuple[str, ...]


def rotate() -> Rotated:
    """Seal every secret with the first key. Interrupted, it may simply run again."""
    sealed, sealed_before, unreadable = 0, 0, []
    for pk in Authenticator.objects.filter(type__in=_SEALED).order_by("pk").values_list("pk", flat=True).iterator():
        with transaction.atomic():  # a recovery code that is used meanwhile is marked in the same column
            row = Authenticator.objects.select_for_update(of=("self",)).select_related("user").filter(pk=pk).first()
            if row is None:
                continue
            name = _SEALED[row.type]
            try:
                plain = encryption.unseal(row.data[name])
            except encryption.Unreadable:
                unreadable.append(row.user.email)
                continue
            if encryption.sealed_by_first_key(row.data[name]):
                sealed_before += 1
                continue
            row.data[name] = encryption.seal(plain)
            row.save(update_fields=["data"])
            sealed += 1
    return Rotated(sealed, sealed_before, tuple(unreadable))
