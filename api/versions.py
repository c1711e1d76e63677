"""`ETag` and `If-Match`: nobody overwrites a change that they have not seen."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from api.problems import Problem


def etag(version: int) -> str:
    return f'"{version}"'


def expected(request: HttpRequest, current: int) -> int:
    """The version that the caller changes: that of `If-Match`, or the current one without the header.

    Raises a 412 problem for another version.
    """
    given = request.headers.get("If-Match", "*").strip()
    if given == "*" or etag(current) in (part.strip() for part in given.split(",")):
        return current
    raise Problem(412, "changed", "This has changed since you read it.", "Read it again, then repeat your change.")


def changed(current: dict[str, Any]) -> Problem:
    """A 412 problem with the document as it is now."""
    return Problem(
        412, "changed", "This has changed since you read it.", "See current, then repeat your change.", current=current
    )
