"""`ETag` and `If-Match`: nobody overwrites a change that they have not seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from api.problems import Problem

_SHAPE = re.compile(r'\*|"[0-9a-f]+"(, *"[0-9a-f]+")*', re.ASCII)


def etag(version: int | str) -> str:
    return f'"{version}"'


def require(request: HttpRequest, version: int | str, current: Callable[[], dict[str, Any]]) -> None:
    """Raise a 412 problem, with the current document, if `If-Match` is there and names another version.

    And a 400 problem if it names none: a change that was meant to be guarded is not made unguarded.
    """
    given = request.headers.get("If-Match", "*").strip()
    if not _SHAPE.fullmatch(given):
        raise Problem(
            400, "bad-match", "This If-Match is not valid.", 'Send an ETag as you have read it: "3", with its quotes.'
        )
    if given == "*" or etag(version) in (part.strip() for part in given.split(",")):
        return
    raise Problem(
        412,
        "changed",
        "This has changed since you read it.",
        "See current, then repeat your change with its ETag.",
        headers={"ETag": etag(version)},
        current=current(),
    )
