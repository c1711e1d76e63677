"""Making a badge, and what it shows: the worst state of its watches, as SVG and JSON."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from unicodedata import east_asian_width

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from common.forms.not_possible import NotPossible
from common.texts import xml_text
from common.texts.state_words import state_word
from people.models import User
from watches.models import Badge, Watch

_COLORS = {"down": "#b3261e", "late": "#8a5a00", "up": "#1f7a33", "paused": "#5f6368", "new": "#5f6368"}
"""Worst first. White text on each has a contrast of at least 4.5."""
_PER_LETTER, _AROUND = 7, 12  # pixels


def create(user: User, watch: Watch | None, tag: str) -> Badge:
    """The badge of the watch, or else of the tag: the one that exists, or a new one. Raises NotPossible.

    The caller holds the person's lock.
    """
    mine = Badge.objects.for_user(user)
    if (badge := mine.filter(watch=watch, tag=tag).first()) is not None:
        return badge
    if mine.count() >= settings.MOST_WATCHES:
        raise NotPossible(_("You have %(most)s badges, the limit.") % {"most": settings.MOST_WATCHES})
    return Badge.objects.create(user=user, watch=watch, tag=tag)


def worst(states: list[str]) -> str:
    return next((state for state in _COLORS if state in states), "new")


def document(watches: Iterable[Watch], now: datetime) -> dict[str, Any]:
    states = [watch.shown_state(now) for watch in watches]
    return {"status": worst(states), "total": len(states), **{state: states.count(state) for state in _COLORS}}


def shields(badge: Badge, state: str) -> dict[str, Any]:
    """For the endpoint badge of shields.io."""
    return {"schemaVersion": 1, "label": str(badge), "message": state_word(state), "color": _COLORS[state]}


def svg(badge: Badge, state: str) -> str:
    label, word = xml_text.FORBIDDEN.sub("", str(badge)), state_word(state)
    left, right = _width(label), _width(word)
    context = {"label": label, "word": word, "color": _COLORS[state], "left": left, "right": right}
    context |= {"width": left + right, "left_text": left - _AROUND, "right_text": right - _AROUND}
    context |= {"left_middle": left / 2, "right_middle": left + right / 2}
    return render_to_string("watches/badge.svg", context)


def _width(text: str) -> int:
    return _AROUND + sum(2 * _PER_LETTER if east_asian_width(one) in "WF" else _PER_LETTER for one in text)
