"""The states of rows and slots as people read them. The API, the database and style sheets keep the codes."""

from django.utils.functional import lazy
from django.utils.translation import pgettext_lazy

_WORDS = {
    "pending": pgettext_lazy("state", "waiting"),
    "dead": pgettext_lazy("state", "failed"),
    "fired": pgettext_lazy("state", "sent"),
    "verified": pgettext_lazy("state", "working"),
    "unverified": pgettext_lazy("state", "not confirmed yet"),
    "working": pgettext_lazy("state", "working"),
    "sending": pgettext_lazy("state", "sending"),
    "delivered": pgettext_lazy("state", "delivered"),
    "unknown": pgettext_lazy("state", "unknown"),
    "cancelled": pgettext_lazy("state", "cancelled"),
    "expired": pgettext_lazy("state", "expired"),
    "saved": pgettext_lazy("state", "saved"),
    "handling": pgettext_lazy("state", "handling"),
    "handled": pgettext_lazy("state", "handled"),
    "sent": pgettext_lazy("state", "sent"),
    "telling": pgettext_lazy("state", "telling"),
    "told": pgettext_lazy("state", "told"),
    "looking": pgettext_lazy("state", "checking"),
    "decided": pgettext_lazy("state", "decided"),
    "active": pgettext_lazy("state", "active"),
    "paused": pgettext_lazy("state", "paused"),
    "finished": pgettext_lazy("state", "finished"),
    "stopped": pgettext_lazy("state", "stopped"),
    "broken": pgettext_lazy("state", "broken"),
    "archived": pgettext_lazy("state", "archived"),
    "awaiting": pgettext_lazy("state", "awaiting Done"),
    "deleted": pgettext_lazy("state", "deleted"),
    "removed": pgettext_lazy("state", "removed"),
    "skipped": pgettext_lazy("state", "skipped"),
    "disabled": pgettext_lazy("state", "disabled"),
    "failing": pgettext_lazy("state", "failing"),
    "unchecked": pgettext_lazy("state", "unchecked"),
    "urgent": pgettext_lazy("state", "urgent"),
    "on": pgettext_lazy("state", "on"),
    "off": pgettext_lazy("state", "off"),
    "notified": pgettext_lazy("state", "notified"),
    "digested": pgettext_lazy("state", "digested"),
    "silent": pgettext_lazy("state", "silent"),
    "processing": pgettext_lazy("state", "processing"),
    "completed": pgettext_lazy("state", "completed"),
    "failed": pgettext_lazy("state", "failed"),
    "dropped": pgettext_lazy("state", "dropped"),
    "open": pgettext_lazy("state", "open"),
    "acknowledged": pgettext_lazy("state", "acknowledged"),
    "resolved": pgettext_lazy("state", "over"),
    "full": pgettext_lazy("state", "full"),
    "partial": pgettext_lazy("state", "failed in part"),
    "new": pgettext_lazy("state", "new"),
    "up": pgettext_lazy("state", "up"),
    "late": pgettext_lazy("state", "late"),
    "down": pgettext_lazy("state", "down"),
    "success": pgettext_lazy("state", "success"),
    "fail": pgettext_lazy("state", "failure"),
    "start": pgettext_lazy("state", "start"),
    "log": pgettext_lazy("state", "log"),
}


def state_word(state: str) -> str:
    """The word for a state; the code itself for one that is not known."""
    return str(_WORDS.get(state, state))


lazy_state_word = lazy(state_word, str)


def labelled(state: str) -> tuple[str, str]:
    """The code and its word: a choice of a filter, or a badge that the code colours."""
    return state, state_word(state)
