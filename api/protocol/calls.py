"""Each API call checks its token, rate limit and idempotency key, and turns an error into a problem document."""

import logging
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from functools import lru_cache, partial, wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from api.protocol import access, idempotency, words
from api.protocol.access import ApiRequest
from api.protocol.fields import CHOICES
from api.protocol.problems import FieldError, Problem, conflict, damaged_row, invalid, not_found
from common.database.postgres import is_locked, is_orphan, is_outage
from common.forms.not_possible import LimitReached, NotPossible
from common.redis import request_slots
from common.redis.request_limiter import Verdict, messages_of, requests_of
from common.redis.request_slots import CHANGE, READ
from common.texts import languages
from common.times.snooze import InvalidSnooze
from events.intake.usage import QuotaReached
from notifications.channels.verification import TooManyCodes
from people import tokens
from people.account import damage
from people.codes import PAUSE, TooSoon
from people.user_lock import Busy
from work import totals

log = logging.getLogger(__name__)

Run = Callable[..., HttpResponse]

# Operations that pay for each message that they move, instead of for each request.
_BY_MESSAGES = frozenset({"pull_messages", "settle_messages", "publish_messages", "publish"})


class Calls:
    """Answer calls of the API without what only pages need: sessions, forged forms, messages, the reader's language.

    The API speaks English, which programs were written for.
    """

    def __init__(self, get_response: Run) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        match = _call(request.path_info) if request.path_info.startswith("/api/") else None
        if match is None:
            return self.get_response(request)
        request.resolver_match = match
        with timezone.override(None), languages.override(settings.LANGUAGE_CODE):
            response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        response["Content-Language"] = settings.LANGUAGE_CODE
        return response


@lru_cache(maxsize=256)  # most calls have one of few paths
def _call(path: str) -> ResolverMatch | None:
    """The operation of the API at this path, if there is one."""
    with suppress(Resolver404):
        match = resolve(path)
        return match if "api" in match.namespaces else None
    return None


def handle(
    run: Run,
    parameters: Callable[[HttpRequest], Container[str]],
    deprecation: Callable[[HttpRequest], Mapping[str, str]],
) -> Run:
    """Wrap one operation of the API; `parameters` says which ones of the query it has, `deprecation` its headers."""

    @wraps(run)
    def handled(request: ApiRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = _admit(request, parameters) or _once(request, partial(run, request, *args, **kwargs))
        except Exception as error:
            response = problem_of(request, error).response()
        finally:
            request_slots.leave(request)
        if (token := getattr(request, "auth", None)) and not hasattr(response, "wait"):
            totals.arrived(token.user_id, totals.API, response.status_code < 400, response.status_code >= 500)
            tokens.count_call(token)
        verdict: Verdict | None = getattr(request, "verdict", None)
        if verdict and verdict.allowed and request.counted.cost:
            length = request.headers.get("Content-Length", "")
            size = len(response.content) + (int(length) if length.isdecimal() else 0)
            request.counted.spend(getattr(request, "messages", 0), size)
        for name, value in (verdict.headers if verdict else {}).items():
            response[name] = value
        for name, value in deprecation(request).items():
            response[name] = f"{response[name]}, {value}" if name in response else value
        return response

    return handled


def _admit(request: ApiRequest, parameters: Callable[[HttpRequest], Container[str]]) -> HttpResponse | None:
    """Check the token and count the call. Returns the response to one that waits, or has waited in vain."""
    request.auth = token = access.authenticate(request)
    kind, refusal = (READ, too_many_at_once) if request.method in request_slots.SAFE else (CHANGE, busy)
    match = request.resolver_match
    by_messages = match is not None and match.url_name in _BY_MESSAGES
    request.counted = (messages_of if by_messages else requests_of)(f"token:{token.id}")
    # A call that waits comes here again (config.asgi), and counts once.
    refused = request_slots.enter(request, kind, token.user_id, lambda: refusal().response(), request.counted)
    if not request.verdict.allowed:
        raise too_many(request.verdict, "This token", "messages" if by_messages else "requests")
    if unknown := [name for name in request.GET if name not in parameters(request)]:
        raise invalid(*(FieldError(f"query.{name}", "There is no such parameter.") for name in unknown))
    return refused


def _once(request: ApiRequest, run: Callable[[], HttpResponse]) -> HttpResponse:
    match = request.resolver_match
    key = request.headers.get(idempotency.HEADER) if request.method == "POST" else None
    if key is None or (match and str(match.url_name) in idempotency.WITHOUT_KEY):
        return run()
    return idempotency.once(request.auth, key, request, run)


def too_many(verdict: Verdict, who: str, what: str = "requests") -> Problem:
    return Problem(
        429,
        "too-many-requests",
        f"{who} has made too many requests." if what == "requests" else f"{who} has moved too many messages.",
        f"At most {verdict.limit} a minute are allowed. Try again in {verdict.reset} s.",
        headers=verdict.headers,
        allowed=False,
        reset=verdict.reset,
    )


def too_many_at_once() -> Problem:
    return Problem(429, "too-many-at-once", "Too many requests of yours are in work.", "Wait until some have ended.")


def busy() -> Problem:
    """Another request of the same person is being worked on, and did not end within a second."""
    detail = "Nothing was changed. Try again."
    return Problem(409, "busy", "You are changing something elsewhere.", detail, headers={"Retry-After": "1"})


def add_error_handlers(api: NinjaAPI) -> None:
    def handle_error(request: HttpRequest, error: Any) -> HttpResponse:
        return problem_of(request, error).response()

    # ninja has handlers for these itself, so that of Exception would not be asked.
    for kind in (Http404, HttpError, ValidationError, Exception):
        api.add_exception_handler(kind, handle_error)


def problem_of(request: HttpRequest, error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case HttpError(__cause__=Problem() as cause):  # ninja's, around what the parser of bodies raises
            return cause
        case Http404():
            return not_found()
        case ValidationError():
            return invalid(*(FieldError(_path(one["loc"]), words.detail(one), one["type"]) for one in error.errors))
        case RequestDataTooBig() | UnreadablePostError() | HttpError():
            return Problem(400, "bad-body", "This body could not be read.", "Send it again, whole.")
    if (problem := _of_operation(error) or _of_database(error)) is not None:
        return problem
    log.exception("A call of the API failed: %s %s", request.method, request.path, exc_info=error)
    if (damaged := damage.find(request, error)) is not None:
        return damaged_row(damaged)
    return Problem(500, "error", "This failed for a reason of ours.", "It is in the server's log.")


def _of_operation(error: Exception) -> Problem | None:
    """The problem if an operation has refused what was asked; its message is for the person."""
    match error:
        case QuotaReached():
            headers = {"Retry-After": str(error.wait)}
            return Problem(429, str(error.reason.code), "Your quota of events is used up.", str(error), headers=headers)
        case TooSoon() | TooManyCodes():
            return too_many_messages(error)
        case InvalidSnooze():
            return invalid(FieldError("snooze_ends_at", str(error), error.code))
        case LimitReached():
            return invalid(FieldError("(body)", str(error), "limit_reached"))
        case NotPossible():
            return conflict(str(error))
        case Busy():
            return busy()
    return None


def too_many_messages(refusal: Exception) -> Problem:
    """Only a pause has a `Retry-After`: a limit of a day is nothing to wait for."""
    headers = {"Retry-After": str(round(PAUSE.total_seconds()))} if isinstance(refusal, TooSoon) else {}
    return Problem(429, "too-many-messages", "No message was sent.", str(refusal), headers=headers)


def _of_database(error: Exception) -> Problem | None:
    """The problem if the database is away, or another transaction holds or has deleted what the call needs."""
    if is_outage(error):
        return Problem(
            503, "unavailable", "The database cannot be reached.", "Try again.", headers={"Retry-After": "10"}
        )
    if is_orphan(error):
        log.warning("A call refers to a row that is gone: %s", error)
        return conflict("What this refers to was deleted meanwhile. Nothing was changed.")
    if is_locked(error):
        detail = "Nothing was changed. Try again."
        return Problem(503, "locked", "Something else is being changed.", detail, headers={"Retry-After": "1"})
    return None


def _path(location: tuple[str | int, ...]) -> str:
    """`("body", "data", "timing", "day")` as `timing.day`; a parameter keeps its place: `query.limit`."""
    place, *inner = [str(part) for part in location if part not in CHOICES]
    if place == "body":
        return ".".join(inner[1:]) or "(body)"
    return ".".join([place, *inner])
