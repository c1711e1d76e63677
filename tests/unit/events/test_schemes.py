"""Signatures of webhooks that come in: right, wrong, old, missing."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import standardwebhooks

from events.pure import schemes
from events.pure.schemes import Hmac, Request, SignatureRefused, verify
from events.reasons import EventCode

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BODY = b'{"type": "order.paid", "data": {"amount": 12}}'
STANDARD = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ....").decode()


def github(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def stripe(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    time = str(int(at.timestamp()))
    signed = hmac.new(secret.encode(), f"{time}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={time},v1={'0' * 64},v1={signed},v0=6ffbb59b2300aae63f272406069a9788"}


def standard(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": "v1,AAAA " + standardwebhooks.Webhook(secret).sign("msg_1", at, body.decode()),
    }


def svix(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    return {name.replace("webhook", "svix"): value for name, value in standard(secret, body, at).items()}


def generic(secret: str, body: bytes, at: datetime) -> dict[str, str]:
    return {"X-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


Sign = Callable[[str, bytes, datetime], dict[str, str]]
SIGNED: list[tuple[str, str, Sign]] = [
    ("github", "It's a Secret to Everybody", github),
    ("stripe", "whsec_test_of_ours", stripe),
    ("standard", STANDARD, standard),
    ("standard", STANDARD, svix),
    ("hmac", "secret-of-16-bytes", generic),
]


def check(scheme: str, secret: str, headers: dict[str, str], body: bytes = BODY, options: Hmac | None = None) -> str:
    lower = {name.lower(): value for name, value in headers.items()}
    return verify(scheme, secret, Request(lower, body, NOON), options or Hmac())


def refusal(scheme: str, secret: str, headers: dict[str, str], body: bytes = BODY) -> str:
    with pytest.raises(SignatureRefused) as refused:
        check(scheme, secret, headers, body)
    assert str(refused.value.reason)
    return refused.value.reason.code


def test_the_vector_of_githubs_documentation() -> None:
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert check("github", "It's a Secret to Everybody", {"X-Hub-Signature-256": header}, b"Hello, World!")


@pytest.mark.parametrize(("scheme", "secret", "sign"), SIGNED)
def test_a_right_signature_passes(scheme: str, secret: str, sign: Sign) -> None:
    check(scheme, secret, sign(secret, BODY, NOON))


@pytest.mark.parametrize(("scheme", "secret", "sign"), SIGNED)
def test_a_wrong_secret_another_body_and_no_signature_are_refused(scheme: str, secret: str, sign: Sign) -> None:
    other = base64.b64encode(b"another").decode()
    assert refusal(scheme, secret, sign(other, BODY, NOON)) == EventCode.WRONG_SIGNATURE
    assert refusal(scheme, secret, sign(secret, BODY, NOON), BODY + b" ") == EventCode.WRONG_SIGNATURE
    assert refusal(scheme, secret, {}) == EventCode.UNSIGNED
    for junk in ("é", ",,,=", "v1," * 50, "sha256="):
        headers = dict.fromkeys(sign(secret, BODY, NOON), junk)
        assert refusal(scheme, secret, headers) == EventCode.WRONG_SIGNATURE


@pytest.mark.parametrize(("scheme", "secret", "sign"), SIGNED[1:3])
@pytest.mark.parametrize("away", [-301, 301, 3600])
def test_an_old_signature_is_refused(scheme: str, secret: str, sign: Sign, away: int) -> None:
    check(scheme, secret, sign(secret, BODY, NOON - timedelta(seconds=299)))
    assert refusal(scheme, secret, sign(secret, BODY, NOON + timedelta(seconds=away))) == EventCode.OLD_SIGNATURE


@pytest.mark.parametrize(("scheme", "secret", "sign"), SIGNED[:3])
def test_a_delivery_that_is_repeated_is_recognised_by_what_is_signed(scheme: str, secret: str, sign: Sign) -> None:
    again = sign(secret, BODY, NOON + timedelta(seconds=60))
    assert check(scheme, secret, sign(secret, BODY, NOON)) == check(scheme, secret, again | {"X-GitHub-Delivery": "2"})


@pytest.mark.parametrize("algorithm", schemes.ALGORITHMS)
@pytest.mark.parametrize("encoding", schemes.ENCODINGS)
def test_an_hmac_may_stand_in_any_header(algorithm: str, encoding: str) -> None:
    signature = hmac.new(b"secret-of-16-bytes", BODY, algorithm).digest()
    shown = signature.hex().upper() if encoding == "hex" else base64.b64encode(signature).decode()
    options = Hmac("X-Shop-Hmac", algorithm, encoding, "v0=")
    check("hmac", "secret-of-16-bytes", {"x-shop-hmac": f"v0={shown}"}, options=options)
