"""A signed cookie of browsers that have signed in before: wrong passwords of strangers do not lock them out."""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from people.models import User
from people.sign_in import security_log

_SALT = "people.devices"
_DAYS = 180


def _name() -> str:
    return "__Host-device" if settings.SESSION_COOKIE_SECURE else "device"


def find(request: HttpRequest, email: str) -> str:
    """The id of this browser if whose address it is has signed in with it; else empty."""
    try:
        user_id, device = signing.loads(request.COOKIES[_name()], salt=_SALT, max_age=_DAYS * 24 * 3600)
    except (KeyError, ValueError, signing.BadSignature):
        return ""
    user = security_log.find_by_email(email)
    return str(device) if user is not None and user.pk == user_id else ""


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    device = find(request, user.email) or secrets.token_urlsafe(12)
    response.set_cookie(
        _name(),
        signing.dumps([user.pk, device], salt=_SALT),
        max_age=_DAYS * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
