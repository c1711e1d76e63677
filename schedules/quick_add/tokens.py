"""A line as tokens, and a cursor over them that remembers which were understood."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from schedules.quick_add import languages
from schedules.quick_add.english import NUMBERS, ORDINALS, PREAMBLES, UNITS

_PATTERN = r"""
      "[^"]*" | “[^”]*”                                  # a title
    | @[a-z]+\b                                          # @daily
    | [A-Z][A-Za-z_]+(?:/[A-Za-z_]+(?:[+-]\d+)?)+        # a time zone
    | (?:GMT|UTC)[+-]\d{1,2}(?::?\d\d)?
    | \d{4}-\d{2}-\d{2}
    | \d{1,2}\.\d{1,2}\.(?:\d{4})?
    | \d{1,4}/\d{1,2}(?:/\d{1,4})?
    | \d{1,2}(?:[:.]\d{2})?(?:SPACEam|\s?(?:pm|a\.m\.|p\.m\.))(?!\w)
    | \d{1,2}[:.]\d{2}(?![\d.])
    | \d+(?:st|nd|rd|th|x)\b
    | \d+
    | [^\W\d_]+(?:['’][^\W\d_]+)*
    | \S
    """
_TOKEN = re.compile(_PATTERN.replace("SPACE", r"\s?"), re.VERBOSE | re.IGNORECASE)
# In German, "am" is a word: "9 am Freitag".
_TOKEN_ELSEWHERE = re.compile(_PATTERN.replace("SPACE", ""), re.VERBOSE | re.IGNORECASE)
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int


class Tokens:
    """`at` is the next token; `used` says which tokens are part of the timing.

    `lower` are the tokens in English: of another language's words, those that mean the same.
    """

    def __init__(self, line: str, language: str = "en") -> None:
        self.line = line
        phrases = languages.PHRASES.get(language, {})
        pattern = _TOKEN_ELSEWHERE if phrases else _TOKEN
        self.all = [Token(found[0], found.start(), found.end()) for found in pattern.finditer(line)]
        self.lower = [token.text.lower() for token in self.all]
        if phrases:
            self._translate(phrases)
        self.used = [False] * len(self.all)
        self.at = 0

    def _translate(self, phrases: Mapping[tuple[str, ...], list[str]]) -> None:
        """Put English words in place of each phrase, the longest first. The first one has all of its text."""
        written, words = self.all, self.lower
        keys = ["#" if word.isdecimal() else languages.fold(word).replace("#", "") for word in words]
        self.all, self.lower = [], []
        at = 0
        while at < len(written):
            lengths = range(min(languages.LONGEST, len(written) - at), 0, -1)
            length = next((one for one in lengths if tuple(keys[at : at + one]) in phrases), 1)
            phrase = slice(at, at + length)
            start, end = written[at].start, written[at + length - 1].end
            numbers = [word for word in words[phrase] if word.isdecimal()]
            for place, word in enumerate(phrases.get(tuple(keys[phrase]), words[phrase])):
                self.all.append(Token("", end, end) if place else Token(self.line[start:end], start, end))
                self.lower.append(word)
                while numbers and "#" in self.lower[-1]:
                    self.lower[-1] = self.lower[-1].replace("#", numbers.pop(0), 1)
            at += length

    def peek(self, ahead: int = 0) -> str:
        """The token in lower case; "" at the end."""
        index = self.at + ahead
        return self.lower[index] if index < len(self.lower) else ""

    def follows_used(self) -> bool:
        return self.at > 0 and self.used[self.at - 1]

    def take(self, words: Collection[str]) -> bool:
        """Step over the next token if it is one of `words`."""
        found = self.peek() in words
        self.at += found
        return found

    def take_all(self, *words: str) -> bool:
        found = tuple(self.lower[self.at : self.at + len(words)]) == words
        self.at += len(words) * found
        return found

    def value(self, words: Mapping[str, int]) -> int | None:
        """Step over the next token if it has a value in `words`."""
        found = words.get(self.peek())
        self.at += found is not None
        return found

    def unit(self) -> str | None:
        found = UNITS.get(self.peek())
        self.at += found is not None
        return found

    def number(self) -> int | None:
        if self.peek().isdecimal() and len(self.peek()) <= 6:
            self.at += 1
            return int(self.lower[self.at - 1])
        return self.value(NUMBERS)

    def ordinal(self) -> int | None:
        """1 for "first" and "1st", -1 for "last"."""
        if match := _ORDINAL.fullmatch(self.peek()):
            self.at += 1
            return int(match[1])
        return self.value(ORDINALS)

    def text(self, start: int, end: int | None = None) -> str:
        """The words as they were written."""
        end = min(max(self.at if end is None else end, start + 1), len(self.all))
        return self.line[self.all[start].start : self.all[end - 1].end]

    def mark(self, start: int, used: bool = True) -> None:
        self.used[start : self.at] = [used] * (self.at - start)

    def rest(self) -> str:
        """What is not used, without quotes and without punctuation at its ends."""
        pieces: list[str] = []
        last = None
        for token, used in zip(self.all, self.used, strict=True):
            if used:
                continue
            if pieces and last is not None and token.start > last:
                pieces.append(" ")
            is_quoted = len(token.text) > 1 and token.text[0] in '"“'
            pieces.append(token.text[1:-1] if is_quoted else token.text)
            last = token.end
        rest = " ".join("".join(pieces).split()).strip(" ,;:–-").removesuffix(" .")
        for preamble in PREAMBLES + languages.PREAMBLES:
            if rest.lower().startswith(f"{preamble} "):
                return rest[len(preamble) + 1 :]
        return rest
