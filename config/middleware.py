"""Middleware for every request: charset, caching, static files and the Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from io import BytesIO
from typing import Any

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.core.exceptions import BadRequest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.http import parse_header_parameters
from whitenoise.middleware import WhiteNoiseMiddleware

_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii"}
# The admin uses Alpine.js, which compiles expressions and writes style attributes. It has no inline script or style.
_ADMIN_POLICY: dict[str, Any] = {
    "script-src": [SELF, UNSAFE_EVAL],
    "style-src": [SELF],
    "style-src-attr": [UNSAFE_INLINE],
}


class UTF8Request(ASGIRequest):
    """A request that is always read as UTF-8. Django takes any codec of Python, and fails on those that are no text."""

    claims_other_charset = False

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        self.claims_other_charset = self.content_params.get("charset", "utf-8").lower() not in _CHARSETS


class UTF8Only:
    """Answer 400 to a request that claims another charset."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The API has a problem document for it.
        if getattr(request, "claims_other_charset", False) and not request.path.startswith("/api/"):
            raise BadRequest("The charset of a request must be UTF-8.")
        return self.get_response(request)


class PrivatePages:
    """Forbid browsers and proxies to store pages. Static files are answered before."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        patch_cache_control(response, private=True, no_store=True)
        return response


class ContentSecurityPolicy(CSPMiddleware):
    """The policy of settings.py, with two exceptions for the admin."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path.startswith(reverse("admin:index")):
            parts.replace = _ADMIN_POLICY
        return parts


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise ships no types
    """Static files from the source folders, each read whole.

    WhiteNoise returns a synchronous stream. Under ASGI, Django reads it whole as well, and logs a warning.
    """

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        with found.file or nullcontext(BytesIO()) as file:
            response = HttpResponse(file.read(), status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
