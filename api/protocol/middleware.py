"""Answers of the API beside its operations: problem documents, and the limit of requests without a valid token."""

from contextlib import suppress
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import parse_etags

from api.protocol.calls import too_many
from api.protocol.problems import CONTENT_TYPE, of_status
from common.redis import request_limiter

_RETAINED = ("Allow", "Retry-After")
_MOST_PARTS = 8  # of a path that could be right: each further one would cost a stranger's request one more search
_ANY = UUID("0197a3c2-5d1e-7b64-9c0f-3e8a41d6b725")
# What scripts on the sites in API_ORIGINS may send and read (CORS).
_SENT_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
_SHOWN_HEADERS = (
    "Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, "
    "Retry-After, Sunset, X-Request-ID"
)
_MAX_AGE = 7_200  # seconds, as long as browsers do


class Problems(MiddlewareMixin):
    """Answer errors that arise outside of an operation, such as an unknown path, with problem documents too.

    And what HTTP offers beside them: HEAD, OPTIONS, CORS, and 304 for a version that the caller has.
    """

    def process_request(self, request: HttpRequest) -> None:
        if request.method == "HEAD" and request.path.startswith("/api/"):
            request.method = "GET"  # the server leaves the body out

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.path.startswith("/api/"):
            response = _complete(request, response)
            if response.status_code < 500 and "RateLimit-Limit" not in response:
                response = _count_by_address(request, response)
            _allow_origin(request, response)
        return response


def _complete(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if request.method == "OPTIONS" and response.status_code == 405:
        response = HttpResponse(status=204, headers={"Allow": f"{response['Allow']}, OPTIONS"})
    elif response.status_code >= 400 and response["Content-Type"] != CONTENT_TYPE:
        headers = {name: response[name] for name in _RETAINED if name in response}
        detail = _malformed(request.path) if response.status_code == 404 else ""
        response = of_status(response.status_code, detail, headers=headers).response()
    elif request.method == "GET" and _has_version(request, response):
        response.status_code, response.content = 304, b""
        del response["Content-Length"], response["Content-Type"]
    return response


def _count_by_address(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A request without a valid token. One with a valid token passes, whatever others at its address do."""
    verdict = request_limiter.check(request_limiter.by_address(request))
    if not verdict.allowed:
        return too_many(verdict, "Your address").response()
    for name, value in verdict.headers.items():
        response[name] = value
    return response


def _has_version(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether the caller has this version, as `If-None-Match` says."""
    given = [tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))]
    return "ETag" in response and ("*" in given or response["ETag"] in given)


def _malformed(path: str) -> str:
    """A sentence if the path would be known with an id in place of one of its parts; else empty."""
    parts = path.split("/")
    if len(parts) > _MOST_PARTS:
        return ""
    for place in range(4, len(parts)):  # behind /api/v1/schedules
        with suppress(Resolver404):
            resolve("/".join([*parts[:place], str(_ANY), *parts[place + 1 :]]))
            return f"“{parts[place][:50]}” is not an id, which looks like {_ANY}. Or choose a path of /api/v1/docs."
    return ""


def _allow_origin(request: HttpRequest, response: HttpResponse) -> None:
    """Let a script on one of API_ORIGINS read the answer. It sends its token itself; no cookie counts in the API."""
    if not settings.API_ORIGINS:
        return
    patch_vary_headers(response, ["Origin"])
    if (origin := request.headers.get("Origin")) not in settings.API_ORIGINS:
        return
    response["Access-Control-Allow-Origin"] = origin
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Methods"] = response.get("Allow", "GET")
        response["Access-Control-Allow-Headers"] = _SENT_HEADERS
        response["Access-Control-Max-Age"] = str(_MAX_AGE)
    else:
        response["Access-Control-Expose-Headers"] = _SHOWN_HEADERS
