"""Requirements of a push service: encryption for one browser (RFC 8291) and a signed identity (VAPID, RFC 8292).

On `cryptography` alone: pywebpush brings its own HTTP client, which would pass by the guarded one.
"""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD = 4096
"""The longest encrypted body that every push service takes (RFC 8291, section 4). The message in it has 103 bytes
less: salt, record size, key length, key, padding delimiter and tag.
"""


_CURVE = ec.SECP256R1()


def encode(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Return the bytes of base64url with or without padding. Raises ValueError."""
    return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))


def public_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the uncompressed point, 65 bytes."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def read_public_key(point: bytes) -> ec.EllipticCurvePublicKey:
    """Raises ValueError for what is not an uncompressed point of the curve."""
    if len(point) != 65:
        raise ValueError("65 bytes expected")
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)


def read_private_key(text: str) -> ec.EllipticCurvePrivateKey:
    """Return the key whose 32 bytes are given in base64url. Raises ValueError."""
    if len(scalar := decode(text)) != 32:
        raise ValueError("32 bytes expected")
    return ec.derive_private_key(int.from_bytes(scalar), _CURVE)


def private_key_from(secret: str) -> str:
    """Return the private key in base64url that belongs to `secret`, the same each time."""
    derived = _hkdf(secret.encode(), b"carillon", b"vapid private key", 48)  # 16 bytes more than the order: no bias
    return encode((int.from_bytes(derived) % (_CURVE.group_order - 1) + 1).to_bytes(32))


def encrypt(message: bytes, browser_key: bytes, auth: bytes) -> bytes:
    """Return the body that only this browser reads. Raises ValueError if the browser's key is not a point."""
    return _encrypt(message, browser_key, auth, ec.generate_private_key(_CURVE), os.urandom(16))


def _encrypt(message: bytes, browser_key: bytes, auth: bytes, own: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    shared, own_key = own.exchange(ec.ECDH(), read_public_key(browser_key)), public_key(own)
    secret = _hkdf(shared, auth, b"WebPush: info\0" + browser_key + own_key, 32)
    key = _hkdf(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(secret, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD.to_bytes(4) + bytes([len(own_key)]) + own_key
    return header + AESGCM(key).encrypt(nonce, message + b"\x02", None)  # 2 ends the last record


def authorization(endpoint: str, private_key: str, subject: str, expires: int) -> str:
    """Return the header that names the sender: a JWT for the endpoint's origin, until `expires` (Unix time)."""
    key, parts = read_private_key(private_key), urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": expires, "sub": subject}
    signed = ".".join(encode(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims))
    r, s = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"vapid t={signed}.{encode(r.to_bytes(32) + s.to_bytes(32))}, k={encode(public_key(key))}"


def _hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
