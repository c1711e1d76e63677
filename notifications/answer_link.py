"""The signed address at which a notification is acknowledged or snoozed, by whoever has got the message.

Hexadecimal throughout, so that no service takes a part of it for markup.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.urls import reverse

LIFE = timedelta(days=30)
"""How long after its notification was recorded a link is good for."""

_TOKEN = re.compile("[0-9a-f]{96}")


def _signer() -> Signer:
    return Signer(salt="notifications.answer")


def token(notification_id: UUID) -> str:
    """32 digits of the id, then 64 of its signature."""
    return notification_id.hex + urlsafe_b64decode(_signer().signature(notification_id.hex) + "=").hex()


def read(token: str) -> UUID | None:
    """Whose token it is; None where its signature is not ours."""
    if _TOKEN.fullmatch(token) is None:
        return None
    signature = urlsafe_b64encode(bytes.fromhex(token[32:])).decode().rstrip("=")
    try:
        return UUID(_signer().unsign(f"{token[:32]}:{signature}"))
    except BadSignature:
        return None


def address(notification_id: UUID) -> str:
    return f"{settings.BASE_URL}{reverse('answer', args=[token(notification_id)])}"
