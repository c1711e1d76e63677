"""Errors as problem documents (RFC 9457). Each says what is wrong, in which field, and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class FieldError:
    """`field` is the path in the body, such as `timing.dailyTime.hour`; or a parameter, such as `query.limit`."""

    field: str
    detail: str


class Problem(Exception):
    """Raise it anywhere in an operation. `code` is for programs and stays the same; the texts are for people.

    `kept`: what the operation wrote stays also under an `Idempotency-Key`, such as a counted try.
    """

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str = "",
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        kept: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(title)
        self.status, self.code, self.title, self.detail = status, code, title, detail
        self.errors, self.headers, self.kept, self.more = list(errors), dict(headers or {}), kept, more

    def response(self) -> HttpResponse:
        document: dict[str, Any] = {
            "type": f"/api/v1/problems/{self.code}",
            "code": self.code,
            "title": self.title,
            "status": self.status,
        }
        if self.detail:
            document["detail"] = self.detail
        if self.errors:
            document["errors"] = [{"field": error.field, "detail": error.detail} for error in self.errors]
        response = HttpResponse(
            json.dumps(document | self.more),
            status=self.status,
            content_type=CONTENT_TYPE,
            headers=self.headers,
        )
        response.kept = self.kept  # type: ignore[attr-defined]
        return response


# A body can have 100,000 wrong fields, and each error is longer than its field.
_MOST_ERRORS = 50


def invalid(*errors: FieldError, kept: bool = False) -> Problem:
    """The body or a parameter is wrong: each error names its field and the remedy."""
    shown = errors[:_MOST_ERRORS]
    detail = "See errors." if shown == errors else f"See errors: the first {_MOST_ERRORS} of {len(errors):,}."
    return Problem(422, "invalid", "Something in this request is not valid.", detail, shown, kept=kept)


def not_found() -> Problem:
    """Also for what belongs to somebody else."""
    return Problem(404, "not-found", "There is nothing here.", "It does not exist, or it is not yours.")


# The codes of what has one in an operation too.
_CODES = {413: "too-large", 500: "error", 503: "unavailable"}
_REMEDIES = {
    400: "Correct the request's headers and address.",
    404: "Compare the address with /api/v1/openapi.json.",
    405: "Use one of the methods in the Allow header.",
    500: "It is in the server's log.",
    503: "Try again.",
}


def of_status(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> Problem:
    """For an error that arose outside of an operation."""
    reason = HTTPStatus(status).phrase
    code = _CODES.get(status) or reason.lower().replace(" ", "-")
    return Problem(status, code, f"{reason}.", detail or _REMEDIES.get(status, ""), headers=headers)


def conflict(detail: str, **more: Any) -> Problem:
    return Problem(409, "conflict", "This is not possible as things stand.", detail, **more)
