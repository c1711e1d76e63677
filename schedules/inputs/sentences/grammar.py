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

_NAMED = re.compile(r"(?:([a-z]):)?([a-z]+(?:/[a-z]+)*)")


@dataclass(frozen=True)
class Rule:
    """`names` has the kinds of each named value; a rule without `action` has the first of these."""

    kind: str
    pattern: str
    names: dict[str, list[str]]
    action: str
    arguments: list[tuple[str, str]]

    def value(self, found: re.Match[str], pieces: list[Piece], line: str, today: date) -> Any:
        """The value of the pieces that the rule matches; None if it does not fit."""
        begin, end = found.span()
        known: dict[str, Any] = {"pieces": pieces[begin:end], "before": pieces[begin - 1], "today": today}
        for name, kinds in self.names.items():
            of = pieces[found.start(name)].kinds if found[name] else {}
            known[name] = next((of[kind] for kind in kinds if kind in of), None)
        if not self.action:
            return next((known[name] for name in self.names), True)
        values = [(name, known[one] if one in known else value(one)) for name, one in self.arguments]
        text = line[pieces[begin].start : pieces[end - 1].end]
        try:
            return ACTIONS[self.action](
                *(of for name, of in values if not name), **{name: of for name, of in values if name}
            )
        except NotUnderstood as error:
            raise NotUnderstood(error.code, text, (), **error.named) from None
        except (ValueError, OverflowError):
            raise NotUnderstood("date", text) from None


@cache
def rules() -> list[Rule]:
    found = []
    for kind, rest in definitions("grammar"):
        pattern, _, action = rest.partition(" -> ")
        names = {name: kinds.split("/") for name, kinds in _NAMED.findall(pattern) if name}
        name, *arguments = action.split() or [""]
        split = [(of, text) for of, _, text in (one.rpartition("=") for one in arguments)]
        found.append(Rule(kind, pattern, names, name, split))
    return found


class Grammar:
    """The rules of a language. Each set of kinds is one character, so that a rule is a regular expression."""

    def __init__(self, language: str) -> None:
        sets = {*lexicon(language).kind_sets(), *(frozenset({rule.kind}) for rule in rules())}
        self._characters = {kinds: chr(0xE000 + at) for at, kinds in enumerate(sorted(sets, key=sorted))}
        self._rules = [(rule, self._compiled(rule.pattern)) for rule in rules()]

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        def one(found: re.Match[str]) -> str:
            kinds = set(found[2].split("/"))
            # A kind that no word of the language has matches nothing.
            characters = "".join(sign for of, sign in self._characters.items() if of & kinds) or "\uf8ff"
            return f"(?P<{found[1]}>[{characters}])" if found[1] else f"[{characters}]"

        return re.compile(_NAMED.sub(one, pattern).replace(" ", ""))

    def reduced(self, pieces: list[Piece], line: str, today: date) -> tuple[list[Piece], list[Piece]]:
        """The pieces, with the larger ones in place of what they are made of; and the zones, which stand anywhere."""
        signs, zones = self._signs(pieces), []
        for rule, pattern in self._rules:
            at = 0
            while found := pattern.search(signs, at):
                begin, end = found.span()
                if (of := rule.value(found, pieces, line, today)) is None:
                    at = begin + 1
                    continue
                start, stop = pieces[begin].start, pieces[end - 1].end
                made = [Piece({rule.kind: of}, start, stop, line[start:stop])]
                zones += made if rule.kind == "zone" else []
                pieces = [*pieces[:begin], *([] if rule.kind == "zone" else made), *pieces[end:]]
                signs = self._signs(pieces)
                at = begin + (rule.kind not in ("day", "zone"))
        return pieces, zones

    def _signs(self, pieces: list[Piece]) -> str:
        return "".join(self._characters[frozenset(piece.kinds)] for piece in pieces)


@cache
def grammar(language: str) -> Grammar:
    return Grammar(language)
