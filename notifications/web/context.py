"""Context processors: unread messages, and where emails are stored without a mail server."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from notifications import providers
from notifications.models import Delivery


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread`: the number of unread inbox messages, read only if a page shows it."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"unread": 0}
    return {"unread": SimpleLazyObject(lambda: Delivery.objects.inbox(user).filter(read_at=None).count())}


def mail_notice(request: HttpRequest) -> dict[str, Any]:
    """`mail_notice`: where to find emails that are saved to files."""
    return {"mail_notice": SimpleLazyObject(providers.get("email").notice)}
