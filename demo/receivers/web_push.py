"""A push service as RFC 8030 and RFC 8292 describe it, and a browser behind it that decrypts as RFC 8291 says.

Subscriptions: `OPEN`; `ENDED` and `UNKNOWN` (410 and 404); `BUSY` (429, again in 30 s); `SMALL` (413: it takes shorter
messages only). A message that is not signed by the key of the subscription gets 403.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from demo.receivers.http import Received, Reply

OPEN, ENDED, UNKNOWN, BUSY, SMALL = (f"/push/planted-{name}" for name in ("open", "ended", "unknown", "busy", "small"))
AUTH = "planted-planted-planteA"[:22]
_KEY = ec.derive_private_key(0xCA11AB1E, ec.SECP256R1())  # the browser's


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


P256DH = _text(_KEY.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def subscription(origin: str, path: str = OPEN) -> dict[str, str]:
    """What the browser's `subscribe` returns."""
    return {"endpoint": f"{origin}{path}", "p256dh": P256DH, "auth": AUTH}


def answer(request: Received) -> Reply:
    try:
        sender(request)
    except (InvalidSignature, KeyError, ValueError, AssertionError):
        return Reply(403, body=b"the sender is not proven")
    if request.headers.get("Content-Encoding") != "aes128gcm" or not request.headers.get("TTL", "").isdigit():
        return Reply(400)
    if len(request.body) > 4096 or (request.path == SMALL and len(request.body) > 200):
        return Reply(413)
    match request.path:
        case "/push/planted-ended":
            return Reply(410)
        case "/push/planted-busy":
            return Reply(429, {"Retry-After": "30"})
        case "/push/planted-open" | "/push/planted-small":
            return Reply(201, {"Location": f"{request.path}/message"})
    return Reply(404)


def sender(request: Received) -> Mapping[str, Any]:
    """Return the claims of the one who sent it, its signature verified."""
    scheme, _, fields = request.headers["Authorization"].partition(" ")
    given = dict(field.strip().split("=", 1) for field in fields.split(","))
    signed, _, signature = given["t"].rpartition(".")
    header, claims = (json.loads(_bytes(part)) for part in signed.split("."))
    assert (scheme, header["alg"]) == ("vapid", "ES256")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _bytes(given["k"]))
    raw = _bytes(signature)
    der = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
    assert urlsplit(claims["aud"]).netloc == request.headers["Host"]
    return {**claims, "key": given["k"]}


def read(request: Received) -> dict[str, Any]:
    """Return the document that the browser's worker gets."""
    document: dict[str, Any] = json.loads(decrypt(request.body, _KEY, _bytes(AUTH)))
    return document


def decrypt(body: bytes, key: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """Return the text of a body of one record (RFC 8188, RFC 8291)."""
    salt, length = body[:16], body[20]
    theirs, record = body[21 : 21 + length], body[21 + length :]
    own = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
    secret = _expand(_hmac(auth, shared), b"WebPush: info\0" + own + theirs, 32)
    extracted = _hmac(salt, secret)
    key_bytes = _expand(extracted, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _expand(extracted, b"Content-Encoding: nonce\0", 12)
    padded = AESGCM(key_bytes).decrypt(nonce, record, None).rstrip(b"\0")
    assert padded.endswith(b"\x02"), "not the last record"
    return padded[:-1]


def _hmac(key: bytes, text: bytes) -> bytes:
    made = HMAC(key, hashes.SHA256())
    made.update(text)
    return made.finalize()


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    return HKDFExpand(hashes.SHA256(), length, info).derive(key)
