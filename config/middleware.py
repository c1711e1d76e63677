"""What holds for every request: it is in UTF-8, and no cache keeps its answer."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control


class PrivatePages:
    """Let neither a browser nor a proxy keep a page. Static files are answered before."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        patch_cache_control(response, private=True, no_store=True)
        return response


class UTF8Only:
    """Answer 400 to a request that claims another charset (see `requests`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if getattr(request, "claims_other_charset", False):
            raise BadRequest("The charset of a request must be UTF-8.")
        return self.get_response(request)
