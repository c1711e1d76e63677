"""Webhooks, signed by the Standard Webhooks scheme 1.0 (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from django import forms

from notifications import backoff, http
from notifications.addresses import RefusedURL, check_url
from notifications.message import Ambiguous, Answer, Delivered, Destination, Message, Rejected, Retryable
from notifications.providers.base import Provider

SECRET_PREFIX = "whsec_"  # noqa: S105 (the scheme's prefix, not a secret)
EXAMPLE = "https://example.org/hooks/carillon"


class WebhookForm(forms.Form):
    """The address to post to, and a secret if the receiver already has one."""

    url = forms.CharField(
        label="Address",
        max_length=2000,
        widget=forms.URLInput(attrs={"placeholder": EXAMPLE}),
        help_text="Carillon posts JSON to it.",
        error_messages={"required": f"Write the address to post to, such as {EXAMPLE}."},
    )
    secret = forms.CharField(
        label="Signing secret",
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Leave it empty and Carillon makes one, shown to you once.",
    )

    def clean_url(self) -> str:
        """Return the address in its canonical form."""
        try:
            return check_url(self.cleaned_data["url"])
        except RefusedURL as refusal:
            raise forms.ValidationError(str(refusal)) from None

    def clean_secret(self) -> str:
        """Return the secret, or "" where Carillon is to make one."""
        secret: str = self.cleaned_data["secret"]
        if secret and _signing_key(secret) is None:
            raise forms.ValidationError(
                f"A signing secret is {SECRET_PREFIX} followed by 24 to 64 bytes in base64. "
                "Leave this empty and Carillon makes one."
            )
        return secret


class Webhook(Provider):
    """Posts a signed JSON document. The query of an address may carry a token, so it is kept with the secrets."""

    kind = "webhook"
    label = "Webhook"
    icon = "webhook"
    position = 20
    policy = backoff.PATIENT
    recognises_repeats = True
    form: ClassVar[type[forms.Form]] = WebhookForm
    revealed = "secret"

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url"} without its query, secrets {"secret"} and, where there is one, {"query"}."""
        parts = urlsplit(cleaned["url"])
        kept = {"secret": cleaned.get("secret") or SECRET_PREFIX + _base64(secrets.token_bytes(24))}
        if parts.query:
            kept["query"] = parts.query
        return Destination(address={"url": urlunsplit(parts._replace(query="", fragment=""))}, secrets=kept)

    def summary(self, destination: Destination) -> str:
        """Return the host, and the path's first step when it is a plain word: many services put a token in a path."""
        try:
            parts = urlsplit(str(destination.address.get("url", "")))
        except ValueError:
            return "A damaged address"
        host = parts.netloc.rpartition("@")[2]
        first, _, rest = parts.path.removeprefix("/").partition("/")
        if rest and re.fullmatch(r"[a-z][a-z-]{0,15}", first):
            return f"{host}/{first}/…"
        return f"{host}/…" if first else host

    def send(self, message: Message, destination: Destination) -> Answer:
        """Post it. `webhook-id` is the message's key, the same at every try, so the receiver can drop repeats."""
        now = datetime.now(UTC)
        key = _signing_key(destination.secrets.get("secret", ""))
        if key is None:
            return Rejected("This channel's signing secret is damaged. Remove the channel and add it again.")
        body = _document(message, now)
        query = destination.secrets.get("query")
        try:
            response = http.request(
                "POST",
                str(destination.address.get("url", "")) + (f"?{query}" if query else ""),
                body=body,
                headers={"Content-Type": "application/json", **_signature(str(message.key), now, body, key)},
                deadline=self.deadline,
            )
        except http.NotSent as failure:
            return Rejected(failure.reason) if failure.refused else Retryable(failure.reason)
        except http.Unanswered as failure:
            return Ambiguous(failure.reason)
        return _judge(response, now)


def _document(message: Message, now: datetime) -> bytes:
    slot = message.slot.isoformat() if message.slot else None
    data = {
        "id": str(message.key),
        "subject": message.subject,
        "body": message.body,
        "slot": slot,
        "recipient": message.recipient,
    }
    return json.dumps({"type": "notification", "timestamp": slot or now.isoformat(), "data": data}).encode()


def _signature(key_id: str, now: datetime, body: bytes, key: bytes) -> dict[str, str]:
    timestamp = str(int(now.timestamp()))
    mac = hmac.new(key, f"{key_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": key_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{_base64(mac)}",
    }


def _judge(response: http.Response, now: datetime) -> Answer:
    status = response.status
    if 200 <= status < 300:
        return Delivered(_in_words(status))
    if status in (408, 425, 429) or status >= 500:
        wish = backoff.parse_retry_after(response.headers.get("Retry-After"), now)
        return Retryable(f"The receiver answered {_in_words(status)}.", retry_after=wish)
    if status == 410:
        return Rejected("The receiver answered 410 Gone: it wants no more messages.", gone=True)
    if 300 <= status < 400:
        return Rejected(
            f"The receiver answered {_in_words(status)}. Carillon follows no redirects: "
            "give this channel the final address."
        )
    return Rejected(f"The receiver answered {_in_words(status)}.")


def _in_words(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _signing_key(secret: str) -> bytes | None:
    """Return the bytes of a whsec_ secret, None when it is not one of 24 to 64 bytes."""
    if not secret.startswith(SECRET_PREFIX):
        return None
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if 24 <= len(key) <= 64 else None


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
