"""The output of commands, and their declaration."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Protocol, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from carillon_client.client import Client

T = TypeVar("T")


Run = Callable[[Client, argparse.Namespace], None]


class Declare(Protocol):
    """Add a command: its name, the function that runs it, and one line about it."""

    def __call__(self, name: str, run: Run, words: str) -> argparse.ArgumentParser: ...


def add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_limit, default=25, metavar="N", help="how many to show (25); 0: all")


def _limit(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("write a number, 0 for all")
    return int(text)


def an_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not an id, such as 0197a3c2-5d1e-7b64-9c0f-3e8a41d6b725"
        ) from None


def show(options: argparse.Namespace, document: object, lines: Sequence[str]) -> None:
    """The document as JSON, or the lines, without what would steer a terminal."""
    if options.json:
        print(escaped(json.dumps(document, ensure_ascii=False, indent=2), allowed="\n"))
        return
    for line in lines:
        print(escaped(line))


def show_list(options: argparse.Namespace, items: Iterable[T], line: Callable[[T], str], none: str) -> None:
    """`--limit` of them; at a terminal, Enter shows the next ones. `none` is said where there are none."""
    left = iter(items)
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not options.json
    page = list(islice(left, options.limit or None))
    show(options, page, [line(one) for one in page] or [none])
    while (following := next(left, None)) is not None:
        if not is_interactive:
            more = f"carillon: there are more than these {options.limit}. Use a larger --limit, or 0 for all."
            print(more, file=sys.stderr)
            return
        print("-- Enter for more, q to end: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline() != "\n":
            return
        show(options, None, [line(one) for one in islice(chain([following], left), options.limit)])


def escaped(text: str, allowed: str = "") -> str:
    """With escapes, as JSON has them, for what would steer a terminal or turn its text round."""
    return "".join(one if one.isprintable() or one in allowed else json.dumps(one)[1:-1] for one in text)


def local(instant: str, zone: str | None) -> str:
    """Without a zone that is known here, as the server wrote it."""
    try:
        return f"{datetime.fromisoformat(instant).astimezone(ZoneInfo(zone or 'UTC')):%a %Y-%m-%d %H:%M}"
    except (ZoneInfoNotFoundError, ValueError):
        return instant
