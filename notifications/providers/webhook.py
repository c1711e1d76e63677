"""Webhooks, signed as Standard Webhooks 1.0 says (https://www.standardwebhooks.com)."""

import base64
import json
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import standardwebhooks
from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from common.times.dates import rfc3339
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.net import post
from notifications.net.address_field import AddressField, HeadersField
from notifications.net.address_policy import EXAMPLE
from notifications.net.http import SERVICE, Response
from notifications.providers.base import Provider, Rate, SecretInput
from notifications.reasons import DeliveryCode
from work import retry
from work.answers import Answer
from work.reasons import Reason

_LONGEST_CODE = 40  # characters, with what people add
SECRET_PREFIX = "whsec_"  # noqa: S105 (the scheme's prefix, not a secret)


CLOUD_EVENTS = forms.BooleanField(
    label="CloudEvents",
    required=False,
    help_text=gettext_lazy("Each message is a CloudEvent 1.0, in JSON. Without it, a Standard Webhook."),
)


class WebhookForm(forms.Form):
    """The address, a secret if the receiver already has one, and more headers."""

    url = AddressField(
        help_text=gettext_lazy("Carillon posts JSON to it."),
        error_messages={
            "required": format_lazy(gettext_lazy("Enter the address to post to, such as {example}."), example=EXAMPLE)
        },
    )
    secret = forms.CharField(
        label=gettext_lazy("Signing secret"),
        required=False,
        max_length=200,
        widget=SecretInput(),
        help_text=gettext_lazy("Leave it empty and Carillon creates one, shown to you once."),
    )
    headers = HeadersField(
        help_text=gettext_lazy("Headers that the receiver requires, one per line, such as Authorization: Bearer …")
    )
    cloudevents = CLOUD_EVENTS

    def clean_secret(self) -> str:
        secret: str = self.cleaned_data["secret"]
        if secret and not _is_secret(secret):
            text = _(
                "A signing secret is %(secret_prefix)s followed by 24 to 64 bytes in base64. Leave this "
                "empty and Carillon creates one."
            )
            raise forms.ValidationError(text % {"secret_prefix": SECRET_PREFIX})
        return secret


class Webhook(Provider):
    """Posts a signed JSON document. The path, query and headers often hold a token, so they are stored as secrets."""

    kind = "webhook"
    label = gettext_lazy("Webhook")
    about = gettext_lazy("Posts each message as JSON to a web address, for programs of yours, Home Assistant or n8n.")
    position = 20
    policy = retry.SLOW
    recognises_repeats = True
    separate_answer_url = True
    form = WebhookForm
    option_fields = frozenset({"cloudevents"})
    revealed = "secret"
    overlap = timedelta(hours=24)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The operator's limit for each host."""
        most = settings.WEBHOOKS_PER_SECOND
        return (Rate(f"{self.kind}-host", most, 1.0, "host"),) if most > 0 else ()

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url", "hint"}: the origin, and the part of the path that may be shown, with {"cloudevents":
        true} where that is set; secrets {"secret", "path"} and, if there are any, {"headers"} as JSON.
        """
        parts = urlsplit(cleaned["url"])
        secrets = {
            "secret": cleaned.get("secret") or _new_secret(),
            "path": urlunsplit(("", "", parts.path or "/", parts.query, "")),
        }
        if cleaned.get("headers"):
            secrets["headers"] = json.dumps(cleaned["headers"])
        origin = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        address: dict[str, Any] = {"url": origin, "hint": _hint(parts.path)}
        if cleaned.get("cloudevents"):
            address["cloudevents"] = True
        return Destination(address, secrets)

    def form_initial(self, destination: Destination) -> dict[str, Any]:
        """Return no address: it may hold a token anywhere after its host."""
        return {"cloudevents": destination.address.get("cloudevents") is True}

    def form_secrets(self, destination: Destination) -> dict[str, Any]:
        stored, fields = destination.secrets, dict[str, Any]()
        if "path" in stored:
            fields["url"] = f"{destination.address.get('url', '')}{stored['path']}"
        if "headers" in stored:
            fields["headers"] = json.loads(stored["headers"])
        return fields

    def update(self, before: Destination, cleaned: Mapping[str, Any]) -> Destination:
        """Keep the signing secrets: only `rotate` replaces them."""
        signing = {name: before.secrets[name] for name in ("secret", "replaced") if name in before.secrets}
        after = self.destination(cleaned)
        return Destination(after.address, {**after.secrets, **signing})

    def rotate(self, destination: Destination, now: datetime) -> Destination:
        """Return the destination with a new secret; the ones before sign too, until `overlap` after `now` (aware)."""
        before = [(destination.secrets.get("secret", ""), now + self.overlap), *_replaced(destination, now)]
        replaced = json.dumps([(secret, until.isoformat()) for secret, until in before])
        return Destination(destination.address, {**destination.secrets, "secret": _new_secret(), "replaced": replaced})

    def overlap_ends(self, destination: Destination, now: datetime) -> list[datetime]:
        return [until for _, until in _replaced(destination, now)]

    def summary(self, destination: Destination) -> str:
        try:
            host = urlsplit(str(destination.address.get("url", ""))).netloc.rpartition("@")[2]
        except ValueError:
            return _("A damaged address")
        return f"{host}{destination.address.get('hint', '')}"

    def send(self, message: Message, destination: Destination) -> Answer:
        """Post the message. `webhook-id` is its key, the same at every try, so that the receiver can drop repeats.

        Its headers are there as `svix-*`, too, for receivers that verify with Svix's libraries.
        """
        now = datetime.now(UTC)
        signing = [destination.secrets.get("secret", ""), *(secret for secret, _ in _replaced(destination, now))]
        if not all(map(_is_secret, signing)):
            return post.damaged("signing secret")
        key, document, content_type = str(message.key), self.document(message, now), "application/json"
        if destination.address.get("cloudevents") is True:
            document, content_type = as_cloud_event(document, key), "application/cloudevents+json"
        body = json.dumps(document)
        signed = {
            "id": key,
            "timestamp": str(int(now.timestamp())),
            "signature": " ".join(standardwebhooks.Webhook(secret).sign(key, now, body) for secret in signing),
        }
        headers = {
            **json.loads(destination.secrets.get("headers", "{}")),
            "Content-Type": content_type,
            **{f"webhook-{name}": value for name, value in signed.items()},
            **{f"svix-{name}": value for name, value in signed.items()},
        }
        url = str(destination.address.get("url", "")) + destination.secrets.get("path", "")
        return post.post(url, body.encode(), headers, self.deadline, _judge)

    def document(self, message: Message, now: datetime) -> dict[str, Any]:
        """Return what is posted; `now` is aware."""
        return document(message, now)


def document(message: Message, now: datetime) -> dict[str, Any]:
    """Return a message as JSON, for a webhook's body or a queue's; `now` is aware."""
    slot = None if message.slot is None else rfc3339(message.slot)
    data: dict[str, Any] = {
        "id": str(message.key),
        "subject": message.subject,
        "body": message.body,
        "slot_at": slot,
        "recipient": message.recipient,
        "answer_url": message.answer_url or None,
        "unsubscribe_url": message.unsubscribe_url or None,
        "correlation_id": str(message.correlation_id or message.key),
        "schedule_id": None if message.schedule_id is None else str(message.schedule_id),
        "category": message.category or None,
        "data": message.data,
    }
    if message.code:
        data["code"] = message.code
    if message.early:
        data["early"] = message.early
        slot = None  # which is still ahead
    return {"type": "notification", "timestamp": slot or rfc3339(now), "data": data}


def as_cloud_event(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a document with its `type`, `timestamp` and `data` as a CloudEvent 1.0 in JSON."""
    return {
        "specversion": "1.0",
        "id": key,
        "source": settings.BASE_URL,
        "type": f"carillon.{document['type']}",
        "time": document["timestamp"],
        "datacontenttype": "application/json",
        "data": document["data"],
    }


def _hint(path: str) -> str:
    """Return the first segment of the path if it is a plain word and not the last."""
    first, _, rest = path.removeprefix("/").partition("/")
    if rest and re.fullmatch(r"[a-z][a-z-]{0,15}", first):
        return f"/{first}/…"
    return "/…" if first else ""


def _replaced(destination: Destination, now: datetime) -> list[tuple[str, datetime]]:
    """Return the replaced secrets that still sign, newest first, each with the time at which it stops."""
    stored = json.loads(destination.secrets.get("replaced", "[]"))
    return [(secret, until) for secret, at in stored if now < (until := datetime.fromisoformat(at))]


def _new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def _is_secret(secret: str) -> bool:
    """Return whether it is whsec_ and 24 to 64 bytes in base64."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        return False
    return secret.startswith(SECRET_PREFIX) and 24 <= len(key) <= 64


def _judge(response: Response) -> Answer:
    if 200 <= response.status < 300:
        answered = post.json_object(response)
        code = answered.get("code", answered.get("challenge"))  # with which a program confirms a channel
        if not isinstance(code, str) or len(code) > _LONGEST_CODE:
            code = ""
        return Delivered(Reason(DeliveryCode.ACCEPTED, status=response.status), code=code)
    if response.status == 410:
        return Rejected(post.answered(SERVICE, response, DeliveryCode.GONE), gone=True)
    if 300 <= response.status < 400:
        return Rejected(post.answered(SERVICE, response, DeliveryCode.REDIRECT))
    return post.refused(SERVICE, response)
