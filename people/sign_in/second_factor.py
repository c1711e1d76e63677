"""The second factor at sign-in: codes of an authenticator app (TOTP, RFC 6238), security keys (WebAuthn), and recovery
codes for when both are lost.

allauth keeps a row for each (`Authenticator`). An app's secret in it is sealed; a key's holds a public key; recovery
codes are hashed. Whether a session has shown a factor is asked of the rows that there are now, so that one that was
removed opens nothing any more.
"""

import hashlib
import secrets
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from allauth.account import app_settings
from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_reset
from django.conf import settings
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy as _

from common.database import encryption
from people.models import User
from people.sign_in import mailboxes

_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
_CODES = 10
_CODE_DIGITS = 36  # 119 bits: too many to guess by a plain hash (OWASP ASVS 5.0, 6.5.2)
_HASH = "sha256:"
_NEW_CODES = "new_recovery_codes"


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": _(
            "Wrong code. Each code is valid for 30 seconds and works once. Enter the current one. "
            "If no code works, check the clock of your device."
        ),
        "cannot_generate_recovery_codes": _("Set up an authenticator app or a security key first."),
    }

    def encrypt(self, text: str) -> str:
        return encryption.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Return a hash as it is. Raises `encryption.Unreadable`."""
        return encrypted_text if encrypted_text.startswith(_HASH) else encryption.unseal(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        count = Authenticator.objects.filter(user=user, type=type).count()
        return gettext("Security key") if count == 0 else gettext("Security key %(number)s") % {"number": count + 1}

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """The name that keys are bound to: never that of the Host header, which a client can choose."""
        return {"id": urlsplit(key_origin()).hostname or "", "name": "Carillon"}


def key_origin() -> str:
    """The origin at which security keys work: BASE_URL's, with a name, because browsers take no IP address."""
    parts = urlsplit(settings.BASE_URL)
    host = parts.hostname or ""
    with suppress(ValueError):  # a name
        host = "localhost" if ip_address(host).is_loopback else host
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in (None, default) else "")


def is_set_up(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=_FACTORS).exists())


def where_to_show(user: User) -> str:
    """The page that asks a signed-in person for their factor; each links to the other."""
    has_key = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN).exists()
    return reverse("mfa_reauthenticate_webauthn" if has_key else "mfa_reauthenticate")


def must_confirm_address(user: User) -> bool:
    """Whether the address must be confirmed first: otherwise a stranger could sign up with it and lock out its owner.

    Staff accounts were created by an operator and need no confirmation.
    """
    return not user.is_staff and not mailboxes.is_confirmed(user.email, user)


def was_shown(request: HttpRequest, user: User) -> bool:
    """Whether this session was signed in with a second factor that still exists."""
    shown = {record["id"] for record in get_authentication_records(request, user) if record["method"] == "mfa"}
    return bool(shown) and bool(Authenticator.objects.filter(user=user, pk__in=shown).exists())


def was_shown_now(request: HttpRequest, user: User, kind: str, pk: int | None) -> bool:
    """Whether a factor was shown within minutes: one of `kind`, or with `pk`, or a recovery code; any if neither."""
    since = time.time() - app_settings.REAUTHENTICATION_TIMEOUT
    shown = [one for one in get_authentication_records(request, user) if one["method"] == "mfa" and one["at"] > since]
    codes = Authenticator.Type.RECOVERY_CODES
    return any(not (kind or pk) or one["type"] in (kind, codes) or one["id"] == pk for one in shown)


def remove(user: User) -> bool:
    """Remove a person's second factor and recovery codes; False if there was none."""
    return bool(Authenticator.objects.filter(user=user).delete()[0])


def hash_code(typed: str) -> str:
    """Return what is stored of a recovery code. Spaces and hyphens in it do not count."""
    return _HASH + hashlib.sha256("".join(filter(str.isalnum, typed)).encode()).hexdigest()


@receiver(pre_save, sender=Authenticator)
def _hash_codes(instance: Any, **_: object) -> None:
    """Store hashes of random codes instead of allauth's seed, from which all codes follow.

    allauth takes codes that another library has made from `migrated_codes`, and deletes each when it is used.
    """
    if instance.type == Authenticator.Type.RECOVERY_CODES and "migrated_codes" not in instance.data:
        codes = [f"{secrets.randbelow(10**_CODE_DIGITS):0{_CODE_DIGITS}}" for _ in range(_CODES)]
        instance.data = {"migrated_codes": [hash_code(code) for code in codes], "viewed_at": time.time()}
        instance.new_codes = codes


@receiver([authenticator_added, authenticator_reset])
def _keep_new_codes(request: HttpRequest, authenticator: Any, **_: object) -> None:
    """Until the page that follows has shown them."""
    if codes := getattr(authenticator, "new_codes", None):
        request.session[_NEW_CODES] = encryption.seal(" ".join(codes))


def take_new_codes(request: HttpRequest) -> list[str]:
    """Return the codes that this browser has made and not shown yet, in groups of four digits."""
    sealed = request.session.pop(_NEW_CODES, None)
    codes = encryption.unseal(sealed).split() if sealed else []
    return [" ".join(code[start : start + 4] for start in range(0, _CODE_DIGITS, 4)) for code in codes]


def lacks_codes(user: User) -> bool:
    """Whether a person with a second factor has used all recovery codes."""
    rows = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES)
    return is_set_up(user) and not rows.exclude(data__migrated_codes=[]).exists()


@receiver(authenticator_added)
def _shown_by_setting_up(request: HttpRequest, user: User, authenticator: Any, **_: object) -> None:
    """Setting up an app needs a code, and a key its touch, so it counts as shown in this session."""
    if authenticator.type in _FACTORS:
        record_authentication(request, user, "mfa", id=authenticator.pk, type=authenticator.type)
