"""An authenticator app (TOTP, RFC 6238), and what a person does with it."""

from __future__ import annotations

import base64
import hmac
import re
import struct
import time

from django.test import Client

PASSWORD = "bell-tower-42"


def code(secret: str, periods_away: int = 0) -> str:
    counter = struct.pack(">Q", int(time.time()) // 30 + periods_away)
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF) % 10**6:06}"


def sign_in(client: Client, email: str, password: str = PASSWORD, after: str = "") -> str:
    """Where the first step leads."""
    answer = client.post("/account/login/", {"login": email, "password": password, "next": after})
    return answer.headers.get("Location", "")


def set_up(client: Client) -> str:
    """By somebody who is signed in. Returns the secret."""
    page = "/account/second-factor/totp/activate/"
    client.post(f"/account/reauthenticate/?next={page}", {"password": PASSWORD})
    found = re.search(r"<code>([A-Z2-7 ]+)</code>", client.get(page).content.decode())
    assert found
    secret = found[1].replace(" ", "")
    answer = client.post(page, {"code": code(secret)})
    assert answer["Location"] == "/account/second-factor/recovery-codes/"
    return secret


def new_codes(client: Client) -> list[str]:
    """The recovery codes that the page shows, once."""
    return re.findall(
        r"<code>([\d ]{44})</code>", client.get("/account/second-factor/recovery-codes/").content.decode()
    )


def show(client: Client, typed: str) -> str:
    """The second step of signing in: where it leads, or what the page says."""
    answer = client.post("/account/second-factor/authenticate/", {"code": typed})
    return answer.headers.get("Location", "") or answer.content.decode()
