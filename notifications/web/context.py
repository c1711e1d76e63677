"""Context processors: unread messages, and where emails are stored without a mail server."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from notifications import providers
from notifications.web.live import MOST_UNREAD, unread_of
from people.models import User


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread`: the number of unread inbox messages as people read it, "" for none; read only if a page shows it."""
    if (user := getattr(request, "user", None)) is None or not user.is_authenticated:
        return {"unread": ""}
    return {"unread": SimpleLazyObject(lambda: _counted(user))}


def _counted(user: User) -> str:
    """As live.js says it of an open page."""
    count = unread_of(user)
    return f"{MOST_UNREAD - 1}+" if count == MOST_UNREAD else str(count or "")


def mail_notice(request: HttpRequest) -> dict[str, Any]:
    """`mail_notice`: where to find emails that are saved to files."""
    return {"mail_notice": SimpleLazyObject(providers.get("email").notice)}
