"""What every call of the API goes through: token, rate limit, idempotency key; and what becomes of an error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import ValidationError

from api import access, idempotency
from api.problems import FieldError, Problem, invalid, not_found
from common import request_limiter
from common.postgres import is_outage

log = logging.getLogger(__name__)

Run = Callable[..., HttpResponse]


def handle(run: Run) -> Run:
    """Wrap one operation of the API."""

    @wraps(run)
    def handled(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        headers: dict[str, str] = {}
        try:
            request.auth = token = access.authenticate(request)  # type: ignore[attr-defined]
            verdict = request_limiter.check(f"token:{token.id}", settings.API_REQUESTS_PER_MINUTE)
            headers = verdict.headers
            if not verdict.allowed:
                raise too_many(verdict)
            if request.method == "POST" and (key := request.headers.get("Idempotency-Key")) is not None:
                response = idempotency.once(token.user, key, request, lambda: run(request, *args, **kwargs))
            else:
                response = run(request, *args, **kwargs)
        except Problem as problem:
            response = problem.response()
        for name, value in headers.items():
            response[name] = value
        return response

    return handled


def too_many(verdict: request_limiter.Verdict) -> Problem:
    return Problem(
        429,
        "too-many-requests",
        "This token has made too many requests.",
        f"At most {verdict.limit} a minute are allowed. Try again in {verdict.reset} s.",
        headers=verdict.headers | {"Retry-After": str(max(1, verdict.reset))},
        allowed=False,
        reset=verdict.reset,
    )


def add_error_handlers(api: NinjaAPI) -> None:
    def problem(request: HttpRequest, error: Problem) -> HttpResponse:
        return error.response()

    def missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return not_found().response()

    def validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return invalid(*(FieldError(_path(one["loc"]), _detail(one)) for one in error.errors)).response()

    def unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
        return Problem(400, "bad-body", "This body could not be read.", "Send it again, whole.").response()

    def unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
        if is_outage(error):
            return Problem(
                503, "unavailable", "The database cannot be reached.", "Try again.", headers={"Retry-After": "10"}
            ).response()
        log.exception("A call of the API failed: %s %s", request.method, request.path)
        return Problem(500, "error", "This failed for a reason of ours.", "It is in the server's log.").response()

    api.add_exception_handler(Problem, problem)
    api.add_exception_handler(Http404, missing)
    api.add_exception_handler(ValidationError, validation)
    api.add_exception_handler(RequestDataTooBig, unreadable)
    api.add_exception_handler(UnreadablePostError, unreadable)
    api.add_exception_handler(Exception, unexpected)


def _path(location: tuple[str | int, ...]) -> str:
    """`("body", "data", "timing", "day")` as `timing.day`; a parameter keeps its place: `query.limit`."""
    place, *inner = [str(part) for part in location]
    if place == "body":
        return ".".join(inner[1:]) or "body"
    return ".".join([place, *inner])


def _detail(error: dict[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "There is no such field. Remove it, or correct its name."
    if error["type"] == "missing":
        return "This field is required."
    message = str(error["msg"])
    return f"{message}." if not message.endswith(".") else message
