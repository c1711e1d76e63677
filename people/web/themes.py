"""The theme of a browser: the account's choice, or a cookie for somebody who is not signed in."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from people.models import Theme, User

COOKIE = f"{settings.COOKIE_PREFIX}theme"
_YEAR = 365 * 24 * 3600


def chosen(request: HttpRequest) -> str:
    """The theme of this page: a value of Theme."""
    user = getattr(request, "user", None)
    return user.actor.theme if isinstance(user, User) else from_cookie(request)


def from_cookie(request: HttpRequest) -> str:
    theme = request.COOKIES.get(COOKIE, "")
    return theme if theme in Theme.values else Theme.SYSTEM


def remember(response: HttpResponse, theme: str) -> None:
    """Keep the theme in this browser, for pages before the sign-in."""
    secure: bool = settings.SESSION_COOKIE_SECURE
    response.set_cookie(COOKIE, theme, max_age=_YEAR, secure=secure, httponly=True, samesite="Lax")


def context(request: HttpRequest) -> dict[str, Any]:
    """For templates, which show it in the first paint, and the version in the footer."""
    return {"version": settings.VERSION, "chosen_theme": chosen(request), "themes": Theme.choices}
