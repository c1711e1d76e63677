"""The states of rows and slots as people read them. The API, the database and style sheets keep the codes."""

from __future__ import annotations

_WORDS = {
    "pending": "waiting",
    "dead": "failed",
    "fired": "sent",
    "partial": "failed in part",
    "verified": "working",
    "unverified": "not confirmed yet",
}


def state_word(state: str) -> str:
    """The word for a state; the code itself where that is the word."""
    return _WORDS.get(state, state)


def labelled(state: str) -> tuple[str, str]:
    """The code and its word: a choice of a filter, or a badge that the code colours."""
    return state, state_word(state)
