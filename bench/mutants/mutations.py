"""Mutants of a module: each replaces one token or statement of its source, also within SQL and Lua."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import CodeType

_SWAPPED = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is"},
    **{"in": "not in", "not in": "in", "and": "or", "or": "and", "+": "-", "-": "+", "*": "/", "/": "*", "//": "*"},
    **{"min": "max", "max": "min", "any": "all", "all": "any"},
}
_OPERATOR = re.compile(r"[<>=!]=|[<>]|\b(?:is not|not in|is|in|and|or)\b|//|[-+*/]")
_MEASURE = re.compile(r"\(?[A-Z_, ]+\)? = (timedelta\(\w+=)?[\d., ()*]+")
_SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|WHERE|JOIN|AND|ORDER BY) |redis\.call\(")
_IN_SQL: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r" SKIP LOCKED", ""),
        (r" FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED| NOWAIT)?", ""),
        (r"\b(?<!DO )(?<!KEY )AND\b(?! %s)", "OR"),
        (r"\bOR\b(?! REPLACE)", "AND"),
        (r" < ", " <= "),
        (r" <= ", " < "),
        (r" > ", " >= "),
        (r" >= ", " > "),
        (r"(?<=WHERE )([\w.]+) = ", r"\1 <> "),
        (r"(?<=AND )([\w.]+) = ", r"\1 <> "),
        (r" AND [\w.]+ (?:=|<>|<=?|>=?|IS|IS NOT) (?:'\w*'|[\w.%]+(?:\(\w*\)s?)?)(?= AND|\)|\s|\"|$)", ""),
        (r"\bIS NULL\b", "IS NOT NULL"),
        (r"\bIS NOT NULL\b", "IS NULL"),
        (r"\bNOT EXISTS\b", "EXISTS"),
        (r" \+ (?=interval|make_interval|\w+ \*)", " - "),
        (r" - (?=interval|make_interval)", " + "),
        (r"\bnow\(\)", "(now() + interval '1 hour')"),
        (r"ORDER BY [\w.]+(?! DESC)\b", r"\g<0> DESC"),
        (r"\b(?:LEAST|least)\b", "greatest"),
        (r"\b(?:GREATEST|greatest)\b", "least"),
        (r"\bLEFT JOIN\b", "JOIN"),
        (r"\bDISTINCT (?!ON|FROM)", ""),
        (r"(?<= )and(?= )", "or"),
        (r"(?<= )or(?= )", "and"),
        (r"(?<=[ (=])\d+(?=[ ),]|$)", lambda match: str(int(match[0]) + 1)),
    )
]


def _is_as_none(value: ast.expr) -> bool:
    """Whether `return None` instead is hardly a bug, or is the same as the mutant `return False`."""
    return isinstance(value, ast.Constant) and (value.value is True or not value.value)


@dataclass(frozen=True, slots=True)
class Mutant:
    path: str
    source: bytes
    start: int
    end: int
    new: str
    function: str
    """Its file and name; empty in the body of a module or class, and in the defaults of arguments."""

    @property
    def line(self) -> int:
        return self.source[: self.start].count(b"\n") + 1

    @property
    def mutated(self) -> bytes:
        """With as many lines, for functions are found by their lines."""
        lines = self.source[self.start : self.end].count(b"\n") - self.new.count("\n")
        return self.source[: self.start] + self.new.encode() + b"\n" * lines + self.source[self.end :]

    def can_be_tried(self) -> bool:
        """Whether it compiles, with functions that close over the same names: else no function takes the new code."""
        try:
            changed = _closures(self.mutated)
        except SyntaxError:
            return False
        return all(changed.get(function, names) == names for function, names in _closures(self.source).items())


@lru_cache(4)
def _closures(source: bytes) -> dict[tuple[str, int], tuple[str, ...]]:
    codes = [compile(source, "", "exec", dont_inherit=True)]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return {(code.co_qualname, code.co_firstlineno): code.co_freevars for code in codes}


def marked(path: str, source: bytes) -> bytes:
    """The module whose functions add their names to the set `sys.reached`."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            mark = f'__import__("sys").__dict__.setdefault("reached", set()).add("{path}:{node.name}")'
            node.body.insert(ast.get_docstring(node) is not None, ast.parse(mark).body[0])
    return ast.unparse(tree).encode()


def mutants(path: str, source: bytes) -> list[Mutant]:
    """All mutants of a module, but for annotations, docstrings, logging, and measures such as `BATCH = 2_000`.

    Not of `fault_points`, which do nothing in production, of `TYPE_CHECKING`, and of `strict` of zip, which checks.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(first: ast.AST, last: ast.AST | None = None) -> tuple[int, int]:
        last = last or first
        assert isinstance(first, ast.expr | ast.stmt) and isinstance(last, ast.expr | ast.stmt)
        assert last.end_lineno and last.end_col_offset is not None
        return starts[first.lineno - 1] + first.col_offset, starts[last.end_lineno - 1] + last.end_col_offset

    def matches(pattern: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int, re.Match[str]]]:
        text = source[start:end].decode()
        for match in pattern.finditer(text):
            first = start + len(text[: match.start()].encode())
            yield first, first + len(match[0].encode()), match

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr() if _SQL.search(source[slice(*span(node))].decode()):
                for pattern, new in _IN_SQL:
                    for start, end, found in matches(pattern, *span(node)):
                        yield start, end, new(found) if callable(new) else found.expand(new)
            case ast.Constant(value=bool() as value):
                yield *span(node), str(not value)
            case ast.Constant(value=int() | float() as number):
                yield *span(node), str(number + 1)
            case ast.Compare(left=first, comparators=rest) | ast.BoolOp(values=[first, *rest]):
                for left, right in pairwise([first, *rest]):
                    for start, end, found in [*matches(_OPERATOR, span(left)[1], span(right)[0])][:1]:
                        yield start, end, _SWAPPED[found[0]]
            case ast.BinOp():
                for start, end, found in [*matches(_OPERATOR, span(node.left)[1], span(node.right)[0])][:1]:
                    yield start, end, _SWAPPED[found[0]]
            case ast.UnaryOp(op=ast.Not()):
                yield span(node)[0], span(node.operand)[0], ""
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield *span(test), f"not ({source[slice(*span(test))].decode()})"
            case ast.Return(value=ast.expr() as value) if not _is_as_none(value):
                yield *span(value), "None"
            case ast.Raise() | ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
                yield *span(node), "pass"
            case ast.ExceptHandler():
                yield *span(node.body[0], node.body[-1]), "raise"
            case ast.Call(func=ast.Name(id="min" | "max" | "any" | "all" as name)):
                yield *span(node.func), _SWAPPED[name]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="transaction"), attr="atomic")):
                yield *span(node), "__import__('contextlib').nullcontext()"

    def visit(node: ast.AST, function: str) -> Iterator[Mutant]:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log") | ast.Attribute(attr="_log")))):
                return
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="fault_points")))):
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.keyword(arg="strict"):
                return
            case ast.Assign() if _MEASURE.fullmatch(ast.unparse(node)):
                return
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                function = f"{path}:{name}"
            case ast.ClassDef() | ast.arguments():
                function = ""
        yield from (Mutant(path, source, *change, function) for change in changes(node))
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list") and not isinstance(node, ast.JoinedStr):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from visit(child, function)

    return [mutant for mutant in visit(ast.parse(source), "") if mutant.mutated != source and mutant.can_be_tried()]
