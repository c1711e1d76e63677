"""A person's browser, through its push service (RFC 8030, https://www.w3.org/TR/push-api/)."""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, pgettext

from common.times import snooze
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import utf8
from notifications.net import post
from notifications.net.address_policy import RefusedURL, check_url
from notifications.net.http import Response
from notifications.providers import push_encryption
from notifications.providers.base import Limits, Provider
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

SERVICE = gettext_noop("the browser's push service")

TTL_SECONDS = 86_400
"""Seconds that the push service keeps a message for a browser that is switched off, unless it is stale before."""

_TOKEN_SECONDS = 12 * 3_600  # RFC 8292 allows a day, by the clock of the push service

_AGAIN = gettext_lazy("Use the button “Ring in this browser” again.")


class WebPushForm(forms.Form):
    """A subscription, as the browser's script fills it in."""

    endpoint = forms.CharField(max_length=1000, widget=forms.HiddenInput, error_messages={"required": _AGAIN})
    p256dh = forms.CharField(max_length=100, widget=forms.HiddenInput, error_messages={"required": _AGAIN})
    auth = forms.CharField(max_length=50, widget=forms.HiddenInput, error_messages={"required": _AGAIN})

    def clean_endpoint(self) -> str:
        """Return the address. Refuse other hosts than push services: nothing proves that they want messages."""
        try:
            endpoint = check_url(self.cleaned_data["endpoint"])
        except RefusedURL:
            raise forms.ValidationError(_AGAIN) from None
        host = urlsplit(endpoint).hostname or ""
        services: list[str] = settings.PUSH_SERVICES
        if not any(host == name or (name.startswith(".") and host.endswith(name)) for name in services):
            text = _(
                "%(host)s is not a known push service. Use another browser, or ask the operator to add it to "
                "PUSH_SERVICES."
            )
            raise forms.ValidationError(text % {"host": host})
        return endpoint

    def clean_p256dh(self) -> str:
        try:
            push_encryption.read_public_key(push_encryption.decode(self.cleaned_data["p256dh"]))
        except ValueError:
            raise forms.ValidationError(_("The browser's key is not valid. %(again)s") % {"again": _AGAIN}) from None
        return str(self.cleaned_data["p256dh"])

    def clean_auth(self) -> str:
        with suppress(ValueError):
            if len(push_encryption.decode(auth := str(self.cleaned_data["auth"]))) == 16:
                return auth
        raise forms.ValidationError(_("The browser's secret is not valid. %(again)s") % {"again": _AGAIN})


class WebPush(Provider):
    """Sends to one browser, encrypted for it. The browser replaces a repeat by its tag, without another sound."""

    kind = "web_push"
    label = gettext_lazy("Browser")
    about = gettext_lazy("Shows notifications on this computer or phone.")
    position = 5
    recognises_repeats = True
    from_browser = True
    separate_answer_url = True
    # In JSON a character takes up to twice its bytes, the links need 700, and the buttons 350: together at most 3,993.
    limits = Limits(subject=300, body=1_000, measure=utf8)
    form = WebPushForm

    def destination(self, cleaned: Mapping[str, Any]) -> Destination:
        """Return address {"url", "digest"}, the push service and what the browser recognises its endpoint by; secrets
        {"endpoint", "p256dh", "auth", "vapid"}. A subscription takes messages of one sender's key only, so the key
        stays with it when the installation's changes.
        """
        secrets = {name: cleaned[name] for name in ("endpoint", "p256dh", "auth")}
        parts = urlsplit(cleaned["endpoint"])
        digest = hashlib.sha256(cleaned["endpoint"].encode()).hexdigest()
        return Destination(
            {"url": f"{parts.scheme}://{parts.netloc}", "digest": digest}, {**secrets, "vapid": private_key()}
        )

    def summary(self, destination: Destination) -> str:
        host = self.host(destination)
        return _("Through %(host)s") % {"host": host} if host else _("Through a damaged address")

    def escape(self, text: str) -> str:
        """Return `text` without control characters, which no notification shows."""
        return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)

    def send(self, message: Message, destination: Destination) -> Answer:
        rendered = self.render(message, destination)
        shown = {
            "title": rendered.subject.text or _("Reminder"),
            "body": rendered.body.text,
            # Without the host: the worker that shows it may know Carillon under another name.
            "open": urlsplit(message.open_url).path,
            "answer": urlsplit(message.answer_url).path,
            "stop": urlsplit(message.unsubscribe_url).path,
            # The service worker that shows it does not know the reader's language.
            "said": {
                "done": pgettext("button", "Done"),
                "snooze": _("Snooze 10 minutes"),
                "stop": _("Stop these messages"),
                "failed": _("Not saved"),
                "again": _("Open “#” and try again."),
            },
            # Browsers show as many buttons as they have room for.
            "snoozes": [(one.value, _("Snooze: %(until)s") % {"until": one.label}) for one in snooze.ALWAYS[1:]],
        } | ({"image": message.picture} if message.picture else {})
        seconds = TTL_SECONDS if message.left is None else max(0, min(TTL_SECONDS, int(message.left)))
        return self._push(message.key, shown, destination, seconds)

    def close(self, key: UUID, destination: Destination) -> Answer:
        """Close the notification that a message with this key shows; if the browser is off, it never shows."""
        return self._push(key, {"closed": pgettext("button", "Done")}, destination, TTL_SECONDS)

    def _push(self, key: UUID, shown: Mapping[str, Any], destination: Destination, seconds: int) -> Answer:
        secrets, contact = destination.secrets, settings.BASE_URL
        if not contact.startswith("https://"):  # Apple refuses addresses without a real domain
            contact = f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
        document = json.dumps({"tag": key.hex, **shown}, ensure_ascii=False).encode()
        try:
            body = push_encryption.encrypt(document, *(push_encryption.decode(secrets[n]) for n in ("p256dh", "auth")))
            expires = int(time.time()) + _TOKEN_SECONDS
            sender = push_encryption.authorization(secrets["endpoint"], secrets["vapid"], contact, expires)
        except (KeyError, ValueError):
            return post.damaged("subscription")
        headers = {
            "Authorization": sender,
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(seconds),
            "Urgency": "high",
            "Topic": key.hex,  # the service replaces a message that it still has
        }
        return post.post(secrets["endpoint"], body, headers, self.deadline, _judge)


def private_key() -> str:
    """Return the key by which new subscriptions know this installation, in base64url."""
    return settings.VAPID_PRIVATE_KEY or push_encryption.private_key_from(settings.SECRET_KEY)


def public_key() -> str:
    """Return what a browser needs to subscribe, in base64url."""
    return push_encryption.encode(push_encryption.public_key(push_encryption.read_private_key(private_key())))


def offer(channels: Iterable[Any]) -> dict[str, Any]:
    """For the button “Ring in this browser”: the key of new subscriptions, and the digests of those that work."""
    ringing = [one for one in channels if one.provider == WebPush.kind and one.disabled_at is None]
    return {"key": public_key(), "known": [channel.address.get("digest", "") for channel in ringing]}


def _judge(response: Response) -> Answer:
    """RFC 8030, section 5; 404 and 410: the subscription has ended."""
    if 200 <= response.status < 300:
        return Delivered()
    if response.status in (404, 410):
        return Rejected(Reason(DeliveryCode.SUBSCRIPTION_ENDED), gone=True)
    return post.refused(SERVICE, response)
