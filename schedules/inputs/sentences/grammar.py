"""Apply the rules of data/grammar.txt: each makes one piece of several, from the small to the large."""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from schedules.inputs.sentences.actions import ACTIONS
from schedules.inputs.sentences.days import Piece
from schedules.inputs.sentences.hints import NotUnderstood
from schedules.inputs.sentences.pieces import definitions, lexicon, value

_ASIDE = ("zone", "fromdone", "early")
_NAMED = re.compile(r"(?:([a-z]):)?([a-z]+(?:/[a-z]+)*)")


@dataclass(frozen=True)
class Rule:
    """`names` has the kinds of each named value; a rule without `action` has the first of these.

    `arguments` and `keywords` are names, or keys of `constants`.
    """

    kind: str
    pattern: str
    names: dict[str, list[str]]
    action: str
    arguments: list[str]
    keywords: dict[str, str]
    constants: dict[str, Any]

    def value(self, match: re.Match[str], pieces: list[Piece], line: str, today: date) -> Any:
        """The value of the pieces that the rule matches; None if it does not fit."""
        begin, end = match.span()
        values = self._named(match, pieces)
        if not self.action:
            return next(iter(values.values()), True)
        values |= {"pieces": pieces[begin:end], "before": pieces[begin - 1], "today": today, **self.constants}
        text = line[pieces[begin].start : pieces[end - 1].end]
        try:
            return ACTIONS[self.action](
                *(values[one] for one in self.arguments if one in values),
                **{name: values[one] for name, one in self.keywords.items() if one in values},
            )
        except NotUnderstood as error:
            raise NotUnderstood(error.code, text, (), **error.named) from None
        except (ValueError, OverflowError):
            raise NotUnderstood("date", text) from None

    def _named(self, match: re.Match[str], pieces: list[Piece]) -> dict[str, Any]:
        """The values of the names that the match has."""
        found = {name: pieces[match.start(name)].kinds for name in self.names if match[name]}
        return {name: next(of[kind] for kind in self.names[name] if kind in of) for name, of in found.items()}


@cache
def rules() -> list[Rule]:
    return [_rule(kind, text) for kind, text in definitions("grammar")]


def _rule(kind: str, text: str) -> Rule:
    pattern, _, action = text.partition(" -> ")
    names = {name: kinds.split("/") for name, kinds in _NAMED.findall(pattern) if name}
    name, *words = action.split() or [""]
    arguments = [word for word in words if "=" not in word]
    keywords = dict(word.split("=") for word in words if "=" in word)
    given = {"pieces", "before", "today", *names}
    constants = {one: value(one) for one in [*arguments, *keywords.values()] if one not in given}
    return Rule(kind, pattern, names, name, arguments, keywords, constants)


class Grammar:
    """The rules of a language. Each set of kinds is one character, so that a rule is a regular expression."""

    def __init__(self, language: str) -> None:
        sets = {*lexicon(language).kind_sets(), *(frozenset({rule.kind}) for rule in rules())}
        self._characters = {kinds: chr(0xE000 + at) for at, kinds in enumerate(sorted(sets, key=sorted))}
        self._rules = [(rule, self._compiled(rule.pattern)) for rule in rules()]

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        def one(match: re.Match[str]) -> str:
            kinds = set(match[2].split("/"))
            # A kind that no word of the language has matches nothing.
            characters = "".join(sign for of, sign in self._characters.items() if (of or {"plain"}) & kinds) or "\uf8ff"
            return f"(?P<{match[1]}>[{characters}])" if match[1] else f"[{characters}]"

        return re.compile(_NAMED.sub(one, pattern).replace(" ", ""))

    def reduced(self, pieces: list[Piece], line: str, today: date) -> tuple[list[Piece], list[Piece]]:
        """The pieces, with the larger ones in place of what they are made of; and those put aside."""
        signs, aside = self._signs(pieces), list[Piece]()
        for rule, pattern in self._rules:
            at = 0
            while match := pattern.search(signs, at):
                begin, end = match.span()
                if (of := rule.value(match, pieces, line, today)) is None:
                    at = begin + 1
                    continue
                start, stop = pieces[begin].start, pieces[end - 1].end
                inner = next((pieces[match.start(name)] for name in rule.names if match[name]), None)
                made = [Piece({rule.kind: of}, start, stop, line[start:stop], inner)]
                if rule.kind in _ASIDE:
                    aside, made = [*aside, *made], []
                pieces = [*pieces[:begin], *made, *pieces[end:]]
                signs = self._signs(pieces)
                at = begin + (rule.kind not in ("day", *_ASIDE))
        return pieces, aside

    def _signs(self, pieces: list[Piece]) -> str:
        return "".join(self._characters[frozenset(piece.kinds)] for piece in pieces)


@cache
def grammar(language: str) -> Grammar:
    return Grammar(language)
