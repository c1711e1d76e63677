"""Answers of the API beside its operations: problem documents, and the limit of requests without a valid token."""

from contextlib import suppress
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import parse_etags

from api.protocol import cors
from api.protocol.calls import too_many
from api.protocol.problems import CONTENT_TYPE, of_status
from common.redis import request_limiter

_KEPT = ("Allow", "Retry-After")
_MOST_PARTS = 8  # of a path that could be right: each further one would cost a stranger's request one more search
_ANY = UUID("0197a3c2-5d1e-7b64-9c0f-3e8a41d6b725")


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
            cors.allow(request, response)
        return response


def _complete(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if request.method == "OPTIONS" and response.status_code == 405:
        response = HttpResponse(status=204, headers={"Allow": f"{response['Allow']}, OPTIONS"})
    elif response.status_code >= 400 and response["Content-Type"] != CONTENT_TYPE:
        kept = {name: response[name] for name in _KEPT if name in response}
        detail = _malformed(request.path) if response.status_code == 404 else ""
        response = of_status(response.status_code, detail, headers=kept).response()
    elif request.method == "GET" and _is_known(request, response):
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


def _is_known(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether the caller has this version, as `If-None-Match` says."""
    given = [tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))]
    return "ETag" in response and ("*" in given or response["ETag"] in given)


def _malformed(path: str) -> str:
    """Which part of the path would have to be an id, if it were known then."""
    parts = path.split("/")
    if len(parts) > _MOST_PARTS:
        return ""
    for place in range(4, len(parts)):  # behind /api/v1/schedules
        with suppress(Resolver404):
            resolve("/".join([*parts[:place], str(_ANY), *parts[place + 1 :]]))
            return f"“{parts[place][:50]}” is not an id, which looks like {_ANY}. Or choose a path of /api/v1/docs."
    return ""
