"""Errors that arise before or beside an operation, such as an unknown path, as problem documents too."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from api.problems import CONTENT_TYPE, Problem

_REMEDIES = {
    400: "Correct the request's headers and address.",
    404: "Compare the address with /api/v1/openapi.json.",
    405: "Use one of the methods in the Allow header.",
    500: "It is in the server's log.",
    503: "Try again.",
}
_KEPT = ("Allow", "Retry-After")


class Problems:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        status = response.status_code
        if status < 400 or not request.path.startswith("/api/") or response["Content-Type"] == CONTENT_TYPE:
            return response
        reason = HTTPStatus(status).phrase
        kept = {name: response[name] for name in _KEPT if name in response}
        code = reason.lower().replace(" ", "-")
        return Problem(status, code, f"{reason}.", _REMEDIES.get(status, ""), headers=kept).response()
