"""Passwords that are easy to guess from their context."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_LEAST = 8  # characters besides the words of the context
_SHORTEST_WORD = 4
_DATE = re.compile(r"(19|20)\d{6}|\d{4}(19|20)\d{2}")


class ContextValidator:
    """Refuse what is little more than the names of the site and of its person, and dates."""

    def validate(self, password: str, user: Any = None) -> None:
        lower = rest = password.lower()
        for word in sorted(_words(user), key=len, reverse=True):
            rest = rest.replace(word, "")
        if rest != lower and len(rest) < _LEAST:
            text = _("Without your name, your address and the name of this site, only %(count)s characters are left.")
            more = _("Use at least %(count)s others.") % {"count": _LEAST}
            raise ValidationError(f"{text % {'count': len(rest)}} {more}", code="password_of_context")
        if _DATE.fullmatch(re.sub(r"[-./ ]", "", password)):
            raise ValidationError(_("A date is easy to guess. Choose something else."), code="password_date")

    def get_help_text(self) -> str:
        text = _("Use at least %(count)s characters besides your name, your address and the name of this site.")
        return text % {"count": _LEAST}


def _words(user: Any) -> set[str]:
    texts = (
        "carillon",
        urlsplit(settings.BASE_URL).hostname or "",
        getattr(user, "email", ""),
        getattr(user, "name", ""),
    )
    return {word for word in re.split(r"[\W_]+", " ".join(texts).lower()) if len(word) >= _SHORTEST_WORD}
