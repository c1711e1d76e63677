"""Calls of scripts on the sites in API_ORIGINS (CORS). A script sends its token itself; no cookie counts in the API."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

_SENT = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
_SHOWN = (
    "Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, "
    "Retry-After, Sunset, X-Request-ID"
)
_KEPT_SECONDS = 7_200  # as long as browsers do


def allow(request: HttpRequest, response: HttpResponse) -> None:
    """Say that the site that asks may read the answer, and what it may send."""
    if not settings.API_ORIGINS:
        return
    patch_vary_headers(response, ["Origin"])
    if (origin := request.headers.get("Origin")) not in settings.API_ORIGINS:
        return
    response["Access-Control-Allow-Origin"] = origin
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Methods"] = response.get("Allow", "GET")
        response["Access-Control-Allow-Headers"] = _SENT
        response["Access-Control-Max-Age"] = str(_KEPT_SECONDS)
    else:
        response["Access-Control-Expose-Headers"] = _SHOWN
