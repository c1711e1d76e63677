"""Answers of the API beside its operations: problem documents, and the limit of requests without a valid token."""

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from api.protocol.calls import too_many
from api.protocol.problems import CONTENT_TYPE, of_status
from common.redis import request_limiter

_KEPT = ("Allow", "Retry-After")


class Problems(MiddlewareMixin):
    """Answer errors that arise outside of an operation, such as an unknown path, with problem documents too."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.path.startswith("/api/"):
            return response
        if response.status_code >= 400 and response["Content-Type"] != CONTENT_TYPE:
            kept = {name: response[name] for name in _KEPT if name in response}
            response = of_status(response.status_code, headers=kept).response()
        if response.status_code >= 500 or "RateLimit-Limit" in response:
            return response
        return _count_by_address(request, response)


def _count_by_address(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A request without a valid token. One with a valid token passes, whatever others at its address do."""
    verdict = request_limiter.check(request_limiter.by_address(request))
    if not verdict.allowed:
        return too_many(verdict, "Your address").response()
    for name, value in verdict.headers.items():
        response[name] = value
    return response
