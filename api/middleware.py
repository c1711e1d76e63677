"""Errors that arise before or beside an operation, such as an unknown path, as problem documents too."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from api.problems import CONTENT_TYPE, of_status

_KEPT = ("Allow", "Retry-After")


class Problems:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code < 400 or not request.path.startswith("/api/"):
            return response
        if response["Content-Type"] == CONTENT_TYPE:
            return response
        kept = {name: response[name] for name in _KEPT if name in response}
        return of_status(response.status_code, headers=kept).response()
