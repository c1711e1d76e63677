"""Sentences about jobs, for people."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.urls import reverse

from work.reasons import Reason


def failed(title: str, reason: Reason, failures: int, page: str) -> tuple[str, str]:
    """The subject and body of the notice that a reminder cannot look."""
    times = "" if failures == 1 else f" It has failed {failures} times in a row."
    return (
        f"“{title}” cannot look"[:200],
        f"Nothing was sent. {reason}{times}\n\nYou hear of it once a day, and when it works again: {page}",
    )


UNKNOWN = "unknown"
"""Stands for what a look would have found."""


def sent_anyway(reason: Reason) -> str:
    """What a reminder says besides that was sent although it could not look."""
    return f"Carillon could not look, and sends this anyway, as you wished. {reason}"


def works_again(title: str, page: str) -> tuple[str, str]:
    """The subject and body of the notice that a reminder can look again."""
    return f"“{title}” works again"[:200], f"It looks as it should: {page}"


# By `Look.outcome`; "at …" follows where there is an instant.
_LOOKS = {
    "waiting": "It looks at",
    "spread": "Spread: it looks at",
    "looking": "It looks now.",
    "retrying": "Could not look: {reason} It tries again at",
    "spoke": "{reason} Message sent.",
    "silent": "{reason} Nothing sent.",
    "failed": "Could not look: {reason} Nothing sent.",
    "dropped": "Did not look: {reason} Nothing sent.",
}


_LOOKED = {
    "spoke": "{reason} It would say:",
    "silent": "{reason} It would stay silent.",
    "failed": "Could not look: {reason}",
}


def look(outcome: str, reason: str) -> str:
    """What became of a look; for one that waits, an instant follows."""
    return _LOOKS[outcome].format(reason=_sentence(reason))


def looked(outcome: str, reason: str) -> str:
    """What a person's own look found."""
    return _LOOKED[outcome].format(reason=_sentence(reason))


def _sentence(evidence: str) -> str:
    whole = f"{evidence[:1].upper()}{evidence[1:]}"
    return whole if whole.endswith((".", "!", "?", "…")) else f"{whole}."


def page_of(origin_id: UUID | None) -> str:
    """The address of the reminder's page."""
    return settings.BASE_URL if origin_id is None else settings.BASE_URL + reverse("schedules:detail", args=[origin_id])
