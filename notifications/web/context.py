"""What every page shows beside its own content."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from notifications import providers
from notifications.models import Delivery


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread`: how many inbox messages the reader has not read; asked of the database only where a page shows it."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"unread": 0}
    return {"unread": SimpleLazyObject(lambda: Delivery.objects.inbox(user).filter(read_at=None).count())}


def mail_notice(request: HttpRequest) -> dict[str, Any]:
    """`mail_notice`: where mails can be read that are written to files, for pages that say that one was sent."""
    return {"mail_notice": SimpleLazyObject(providers.get("email").notice)}
