"""Sentences about jobs, for people."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from common.times import dates
from work.reasons import Reason


def failed(title: str, reason: Reason, failures: int, page: str) -> tuple[str, str]:
    """The subject and body of the notice that a reminder's check failed."""
    if failures == 1:
        body = _("Nothing was sent. %(reason)s\n\nYou hear of it once a day, and when it works again: %(page)s")
    else:
        body = _(
            "Nothing was sent. %(reason)s It has failed %(count)s times in a row.\n\n"
            "You hear of it once a day, and when it works again: %(page)s"
        )
    return (
        (_("“%(title)s”: the check failed") % {"title": title})[:200],
        body % {"reason": reason, "count": failures, "page": page},
    )


UNKNOWN = gettext_lazy("unknown")
"""Stands for what a check would have found."""


def sent_anyway(reason: Reason) -> str:
    """The note on a reminder that was sent although its check failed."""
    return _("The check failed, and this is sent anyway, as you wished. %(reason)s") % {"reason": reason}


def works_again(title: str, page: str) -> tuple[str, str]:
    """The subject and body of the notice that a reminder's checks work again."""
    return (
        (_("“%(title)s” works again") % {"title": title})[:200],
        _("Its checks work again: %(page)s") % {"page": page},
    )


def silent(title: str, since: str, page: str) -> tuple[str, str]:
    """The subject and body of the notice that a reminder's source has brought nothing for long."""
    return (
        (_("“%(title)s” has brought nothing for long") % {"title": title})[:200],
        _(
            "Its source answers, but has brought nothing since %(day)s. Has it moved, or ended? Check its address: "
            "%(page)s\n\nYou hear of it once."
        )
        % {"day": dates.full_day(datetime.fromisoformat(since)), "page": page},
    )


# By `Check.outcome`; "at …" follows where there is an instant.
_CHECKS = {
    "waiting": gettext_lazy("It checks at"),
    "spread": gettext_lazy("Spread: it checks at"),
    "checking": gettext_lazy("It is checking now."),
    "retrying": gettext_lazy("The check failed: {reason} It tries again at"),
    "spoke": gettext_lazy("{reason} Message sent."),
    "silent": gettext_lazy("{reason} Nothing sent."),
    "failed": gettext_lazy("The check failed: {reason} Nothing sent."),
    "dropped": gettext_lazy("Not checked: {reason} Nothing sent."),
}


_CHECKED = {
    "checking": gettext_lazy("It is under way."),
    "spoke": gettext_lazy("{reason} It would say:"),
    "silent": gettext_lazy("{reason} It would stay silent."),
    "failed": gettext_lazy("The check failed: {reason}"),
}


def check(outcome: str, reason: str) -> str:
    """Return the outcome of a check in words; for one that waits, an instant follows."""
    return _CHECKS[outcome].format(reason=_sentence(reason))


def checked(outcome: str, reason: str) -> str:
    return _CHECKED[outcome].format(reason=_sentence(reason))


def _sentence(evidence: str) -> str:
    whole = f"{evidence[:1].upper()}{evidence[1:]}"
    return whole if whole.endswith((".", "!", "?", "…")) else f"{whole}."


def page_of(origin_id: UUID | None) -> str:
    return settings.BASE_URL if origin_id is None else settings.BASE_URL + reverse("schedules:detail", args=[origin_id])
