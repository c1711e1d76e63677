"""Signature schemes of webhook senders. Pure: a secret, headers, the body as it came, and the time.

GitHub: docs.github.com, "Validating webhook deliveries". Stripe: docs.stripe.com/webhooks, "Verify manually".
Standard Webhooks: www.standardwebhooks.com.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _, gettext_noop

from common.texts.refusal import TEXTS, Refusal
from common.texts.types import StrOrPromise
from events.reasons import EventCode
from work.reasons import Reason

TOLERANCE = 300
"""Seconds by which the time of a signature may differ from ours."""

ALGORITHMS = ("sha256", "sha512", "sha1")
ENCODINGS = ("hex", "base64")
TEXTS.update(
    not_a_standard_secret=gettext_noop("This is not a secret of Standard Webhooks: “whsec_” and base64 behind it.")
)

SHORTEST_KEY = 16
"""Bytes of a key that proves anything."""


class SignatureRefused(Exception):
    """The signature is missing, wrong or too old; with NO_SECRET, there is no key of `SHORTEST_KEY` bytes."""

    def __init__(self, code: EventCode, **params: object) -> None:
        super().__init__(code)
        self.reason = Reason(code, **params)


class Hmac(NamedTuple):
    """A custom signature: HMAC of the body, in `header` behind `prefix`."""

    header: str = "X-Signature"
    algorithm: str = "sha256"
    encoding: str = "hex"
    prefix: str = ""


class Request(NamedTuple):
    """An incoming request. The names of `headers` are in lower case."""

    headers: Mapping[str, str]
    body: bytes
    at: datetime


Check = Callable[[str, Request, Hmac], str]
"""Returns what identifies this delivery by what is signed; "" where nothing does. Raises SignatureRefused."""


def _github(secret: str, request: Request, hmac_: Hmac) -> str:
    header = "x-hub-signature-256"
    given = _header(request, header)
    _compare(given.removeprefix("sha256="), [_sign(secret.encode(), request.body, "sha256").hex()], header)
    # X-GitHub-Delivery is not signed: whoever repeats a delivery may change it.
    return hashlib.sha256(request.body).hexdigest()


def _stripe(secret: str, request: Request, hmac_: Hmac) -> str:
    header = "stripe-signature"
    parts = [part.strip().partition("=") for part in _header(request, header).split(",")]
    time = next((value for name, _, value in parts if name == "t"), "")
    given = [value for name, _, value in parts if name == "v1"]
    expected = _sign(secret.encode(), time.encode() + b"." + request.body, "sha256").hex()
    _compare(expected, given, header)
    _check_time(time, request.at)
    return hashlib.sha256(request.body).hexdigest()


def _standard(secret: str, request: Request, hmac_: Hmac) -> str:
    # Svix sends the same under names of its own.
    prefix = "svix" if "svix-signature" in request.headers and "webhook-signature" not in request.headers else "webhook"
    header = f"{prefix}-signature"
    key, time = _header(request, f"{prefix}-id"), _header(request, f"{prefix}-timestamp")
    given = [
        value
        for version, _, value in (one.partition(",") for one in _header(request, header).split())
        if version == "v1"
    ]
    signed = f"{key}.{time}.".encode() + request.body
    _compare(base64.b64encode(_sign(standard_key(secret), signed, "sha256")).decode(), given, header)
    _check_time(time, request.at)
    return key


def _generic(secret: str, request: Request, hmac_: Hmac) -> str:
    given = _header(request, hmac_.header.lower()).removeprefix(hmac_.prefix)
    signature = _sign(secret.encode(), request.body, hmac_.algorithm)
    shown = signature.hex() if hmac_.encoding == "hex" else base64.b64encode(signature).decode()
    _compare(given.lower() if hmac_.encoding == "hex" else given, [shown], hmac_.header)
    return ""


SCHEMES: dict[str, tuple[StrOrPromise, Check]] = {
    "none": (_("None: the address is the secret"), lambda *_: ""),
    "github": ("GitHub", _github),
    "stripe": ("Stripe", _stripe),
    "standard": ("Standard Webhooks, Svix", _standard),
    "hmac": (_("HMAC of the body in a header"), _generic),
}
"""By code: the words for people, and the check."""


def verify(scheme: str, secret: str, request: Request, options: Hmac) -> str:
    """What identifies this delivery, so that a repetition is known; "" without a signature. Raises SignatureRefused."""
    if not is_enough(scheme, secret):
        raise SignatureRefused(EventCode.NO_SECRET, least=SHORTEST_KEY)
    return SCHEMES[scheme][1](secret, request, options)


def is_enough(scheme: str, secret: str) -> bool:
    """Whether the scheme needs no key, or the secret holds one of `SHORTEST_KEY` bytes."""
    try:
        key = standard_key(secret) if scheme == "standard" else secret.encode()
    except ValueError:
        return False
    return scheme == "none" or len(key) >= SHORTEST_KEY


def standard_key(secret: str) -> bytes:
    """The key of a secret such as `whsec_…`. Raises Refusal."""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise Refusal("not_a_standard_secret") from None


def _header(request: Request, name: str) -> str:
    if not (value := request.headers.get(name.lower(), "")):
        raise SignatureRefused(EventCode.UNSIGNED, header=name)
    return value


def _sign(key: bytes, signed: bytes, algorithm: str) -> bytes:
    return hmac.new(key, signed, algorithm).digest()


def _compare(one: str, others: list[str], header: str) -> None:
    # All are compared, each in constant time; compare_digest takes no letters outside of ASCII.
    equal = [hmac.compare_digest(one.encode(), other.encode()) for other in others]
    if not any(equal):
        raise SignatureRefused(EventCode.WRONG_SIGNATURE, header=header)


def _check_time(text: str, now: datetime) -> None:
    if not re.fullmatch(r"[0-9]{1,12}", text) or abs(now.timestamp() - int(text)) > TOLERANCE:
        raise SignatureRefused(EventCode.OLD_SIGNATURE, seconds=TOLERANCE)
