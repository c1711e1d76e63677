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
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from django import forms
from django.conf import settings

from notifications import retry
from notifications.message import Answer, Delivered, Destination, Message, Rejected
from notifications.net import http, post
from notifications.net.address_field import AddressField
from notifications.providers.base import Provider, Rate, damaged

SECRET_PREFIX = "whsec_"  # noqa: S105 (the scheme's prefix, not a secret)
EXAMPLE = "https://example.org/hooks/carillon"

MOST_HEADERS = 10

_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}):[ \t]*([\x21-\x7e](?:[\x20-\x7e]{0,999}[\x21-\x7e])?)")

# What frames the request, routes it, or says that it is ours.
_OURS = re.compile(
    r"(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding|forwarded|via"
    r"|(content|webhook|proxy|x-forwarded|sec)-.*)",
    re.IGNORECASE,
)


class WebhookForm(forms.Form):
    """The address to post to, and a secret if the receiver already has one."""

    url = AddressField(
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

    headers = forms.CharField(
        label="Headers",
        required=False,
        max_length=8000,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"}),
        help_text="What the receiver asks for beside the signature, one a line, such as Authorization: Bearer …",
        error_messages={"max_length": "All headers together have at most %(limit_value)d characters."},
    )

    def clean_secret(self) -> str:
        """Return the secret, or "" where Carillon is to make one."""
        secret: str = self.cleaned_data["secret"]
        if secret and _signing_key(secret) is None:
            raise forms.ValidationError(
                f"A signing secret is {SECRET_PREFIX} followed by 24 to 64 bytes in base64. "
                "Leave this empty and Carillon makes one."
            )
        return secret

    def clean_headers(self) -> dict[str, str]:
        """Return the headers by name."""
        lines = [line.strip() for line in self.cleaned_data["headers"].splitlines() if line.strip()]
        if len(lines) > MOST_HEADERS:
            raise forms.ValidationError(f"There are {len(lines)} headers; at most {MOST_HEADERS} are sent.")
        headers: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            found = _HEADER.fullmatch(line)
            if found is None:
                raise forms.ValidationError(f"Line {number} is not a header. Write it like Authorization: Bearer …")
            name, value = found.groups()
            if _OURS.fullmatch(name):
                raise forms.ValidationError(f"Carillon sets {name} itself. Leave it out.")
            if name.lower() in (other.lower() for other in headers):
                raise forms.ValidationError(f"{name} is there twice. Leave one of them out.")
            headers[name] = value
        return headers


class Webhook(Provider):
    """Posts a signed JSON document. Many services put a token into the path or the query of an address, and into
    headers: all of that is kept with the secrets.
    """

    kind = "webhook"
    label = "Webhook"
    icon = "webhook"
    position = 20
    policy = retry.PATIENT
    recognises_repeats = True
    answers_apart = True
    form: ClassVar[type[forms.Form]] = WebhookForm
    revealed = "secret"
    overlap = timedelta(hours=24)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Return what a receiver that nobody has asked can be expected to bear."""
        most = settings.WEBHOOKS_PER_SECOND
        return (Rate("webhook-host", most, 1.0, "host"),) if most > 0 else ()

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url", "hint"}: the origin, and what may be shown of the path; secrets {"secret", "path"}
        and, where there are any, {"headers"} as JSON.
        """
        parts = urlsplit(cleaned["url"])
        kept = {
            "secret": cleaned.get("secret") or _fresh_secret(),
            "path": urlunsplit(("", "", parts.path or "/", parts.query, "")),
        }
        if cleaned.get("headers"):
            kept["headers"] = json.dumps(cleaned["headers"])
        origin = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        return Destination(address={"url": origin, "hint": _hint(parts.path)}, secrets=kept)

    def shown(self, destination: Destination) -> dict[str, Any]:
        """Return nothing: the address that was typed may hold a token anywhere behind its host."""
        return {}

    def withheld(self, destination: Destination) -> dict[str, Any]:
        """Return the whole address, and the headers by name."""
        kept = destination.secrets
        typed: dict[str, Any] = {"url": f"{destination.address.get('url', '')}{kept['path']}"} if "path" in kept else {}
        return typed | ({"headers": json.loads(kept["headers"])} if "headers" in kept else {})

    def changed(self, before: Destination, cleaned: Mapping[str, Any]) -> Destination:
        """Return the destination with the secrets that sign, which `rotated` alone replaces."""
        signing = {name: before.secrets[name] for name in ("secret", "replaced") if name in before.secrets}
        after = self.destination(cleaned)
        return Destination(after.address, {**after.secrets, **signing})

    def rotated(self, destination: Destination, now: datetime) -> Destination:
        """Return the destination with a fresh secret; `overlap` from `now` (aware) on, those before sign too."""
        before = [(destination.secrets.get("secret", ""), now + self.overlap), *_replaced(destination, now)]
        replaced = json.dumps([(secret, until.isoformat()) for secret, until in before])
        return Destination(
            destination.address, {**destination.secrets, "secret": _fresh_secret(), "replaced": replaced}
        )

    def overlaps(self, destination: Destination, now: datetime) -> list[datetime]:
        """Return until when each secret signs that was replaced, newest first."""
        return [until for _, until in _replaced(destination, now)]

    def summary(self, destination: Destination) -> str:
        """Return the host, and of the path what may be shown."""
        try:
            host = urlsplit(str(destination.address.get("url", ""))).netloc.rpartition("@")[2]
        except ValueError:
            return "A damaged address"
        return f"{host}{destination.address.get('hint', '')}"

    def send(self, message: Message, destination: Destination) -> Answer:
        """Post it. `webhook-id` is the message's key, the same at every try, so the receiver can drop repeats."""
        now = datetime.now(UTC)
        keys = [_signing_key(secret) for secret in _secrets(destination, now)]
        if None in keys:
            return damaged("signing secret")
        body = _document(message, now)
        answer = post.post(
            str(destination.address.get("url", "")) + destination.secrets.get("path", ""),
            body,
            {
                **json.loads(destination.secrets.get("headers", "{}")),
                "Content-Type": "application/json",
                **_signature(str(message.key), now, body, [key for key in keys if key]),
            },
            self.deadline,
        )
        return _judge(answer) if isinstance(answer, http.Response) else answer


def _hint(path: str) -> str:
    """Return the path's first step when it is a plain word that others follow."""
    first, _, rest = path.removeprefix("/").partition("/")
    if rest and re.fullmatch(r"[a-z][a-z-]{0,15}", first):
        return f"/{first}/…"
    return "/…" if first else ""


def _secrets(destination: Destination, now: datetime) -> list[str]:
    return [destination.secrets.get("secret", ""), *(secret for secret, _ in _replaced(destination, now))]


def _replaced(destination: Destination, now: datetime) -> list[tuple[str, datetime]]:
    """Return the secrets that were replaced and still sign, newest first, each with the instant at which it stops."""
    kept = json.loads(destination.secrets.get("replaced", "[]"))
    return [(secret, until) for secret, at in kept if now < (until := datetime.fromisoformat(at))]


def _fresh_secret() -> str:
    return SECRET_PREFIX + _base64(secrets.token_bytes(24))


def _document(message: Message, now: datetime) -> bytes:
    slot = message.slot.isoformat() if message.slot else None
    data = {
        "id": str(message.key),
        "subject": message.subject,
        "body": message.body,
        "slot": slot,
        "recipient": message.recipient,
        "answer_url": message.answer_url or None,
    }
    return json.dumps({"type": "notification", "timestamp": slot or now.isoformat(), "data": data}).encode()


def _signature(key_id: str, now: datetime, body: bytes, keys: list[bytes]) -> dict[str, str]:
    timestamp = str(int(now.timestamp()))
    signed = f"{key_id}.{timestamp}.".encode() + body
    macs = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    return {
        "webhook-id": key_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_base64(mac)}" for mac in macs),
    }


def _judge(response: http.Response) -> Answer:
    status = response.status
    if 200 <= status < 300:
        return Delivered(post.in_words(status))
    if later := post.later("The receiver", response):
        return later
    if status == 410:
        return Rejected("The receiver answered 410 Gone: it wants no more messages.", True, post.code(response))
    if 300 <= status < 400:
        return Rejected(
            f"The receiver answered {post.in_words(status)}. Carillon follows no redirects: "
            "give this channel the final address.",
            code=post.code(response),
        )
    return Rejected(f"The receiver answered {post.in_words(status)}.", code=post.code(response))


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
