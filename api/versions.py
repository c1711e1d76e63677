"""`ETag` and `If-Match`: nobody overwrites a change that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from api.problems import Problem


def etag(version: int | str) -> str:
    return f'"{version}"'


def require(request: HttpRequest, version: int | str, current: Callable[[], dict[str, Any]]) -> None:
    """Raise a 412 problem, with the current document, if `If-Match` is there and names another version."""
    given = request.headers.get("If-Match", "*").strip()
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
