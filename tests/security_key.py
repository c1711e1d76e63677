"""A security key and its browser (WebAuthn level 3), and what a person does with them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_encode

from people.sign_in.second_factor import key_origin
from tests.authenticator import PASSWORD

ADD = "/account/second-factor/webauthn/add/"
STEP = "/account/second-factor/authenticate/"
AGAIN = "/account/second-factor/webauthn/reauthenticate/"
_TOUCHED, _HOLDS_KEY = 0x01, 0x40


class SecurityKey:
    """One key pair. `origin`: that of the page, which the browser tells the server."""

    def __init__(self, origin: str = "") -> None:
        self.id, self._private, self._uses = os.urandom(32), ec.generate_private_key(ec.SECP256R1()), 0
        self.origin = origin or key_origin()

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        key = ES256.from_cryptography_key(self._private.public_key())
        held = bytes(16) + len(self.id).to_bytes(2) + self.id + cbor.encode(dict(key))
        data = self._data(options["rp"]["id"], _TOUCHED | _HOLDS_KEY) + held
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer("webauthn.create", options, {"attestationObject": websafe_encode(attestation)})

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        self._uses += 1
        data = self._data(options["rpId"], _TOUCHED)
        signed = data + hashlib.sha256(self._client_data("webauthn.get", options)).digest()
        signature = self._private.sign(signed, ec.ECDSA(hashes.SHA256()))
        parts = {"authenticatorData": websafe_encode(data), "signature": websafe_encode(signature)}
        return self._answer("webauthn.get", options, parts)

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + self._uses.to_bytes(4)

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def _answer(self, kind: str, options: dict[str, Any], parts: dict[str, str]) -> dict[str, Any]:
        client_data = websafe_encode(self._client_data(kind, options))
        return {
            "id": websafe_encode(self.id),
            "rawId": websafe_encode(self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {"clientDataJSON": client_data, **parts},
        }


def options_on(page: str) -> dict[str, Any]:
    """What the page asks of a key."""
    found = re.search(r'<script id="key-options" type="application/json">(.*?)</script>', page)
    assert found
    [asked] = json.loads(found[1]).values()
    options: dict[str, Any] = asked["publicKey"]
    return options


def add_key(client: Client, key: SecurityKey, name: str = "Blue key") -> str:
    """By somebody who is signed in. Where it leads, or what the page says."""
    client.post(f"/account/reauthenticate/?next={ADD}", {"password": PASSWORD})
    answer = key.create(options_on(client.get(ADD).content.decode()))
    return send(client, ADD, answer, name=name)


def show_key(client: Client, key: SecurityKey, page: str = STEP) -> str:
    """The second step of signing in, or of confirming: where it leads, or what the page says."""
    return send(client, page, key.get(options_on(client.get(page).content.decode())))


def send(client: Client, page: str, answer: object, **more: str) -> str:
    sent = client.post(page, {"credential": json.dumps(answer), **more})
    return sent.headers.get("Location", "") or sent.content.decode()
