"""Quick add in other languages: their words and phrases, each with the English words that the reader knows.

`#` stands for a number. English is understood beside each of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from schedules.quick_add import german, spanish


def fold(word: str) -> str:
    """Without accents, which many people leave out."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


def _folded(phrases: Mapping[str, str]) -> dict[tuple[str, ...], list[str]]:
    return {tuple(fold(phrase).split()): english.split() for phrase, english in phrases.items()}


PHRASES = {"de": _folded(german.PHRASES), "es": _folded(spanish.PHRASES)}
PREAMBLES = german.PREAMBLES + spanish.PREAMBLES
LONGEST = max(len(phrase) for phrases in PHRASES.values() for phrase in phrases)
