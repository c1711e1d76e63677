"""CloudEvents in the body and the headers of a request, as the body that publishes events."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from api.protocol import parser
from api.protocol.access import ApiRequest
from api.protocol.fields import read_instant
from api.protocol.problems import FieldError, invalid
from common.parsing import strict_json
from events.pure import cloud_events
from events.pure.cloud_events import BATCH, STRUCTURED, Malformed

Run = Callable[..., HttpResponse]


def taken(run: Run) -> Run:
    """Let an operation whose body is `EventsBody` take CloudEvents, too."""

    @wraps(run)
    def view(request: ApiRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.takes_odd_numbers = True
        if (mode := _mode(request)) is not None:
            request._body = json.dumps(_body(request, mode), ensure_ascii=False, separators=(",", ":")).encode()
            request.content_type, request.content_params = "application/json", {}
        return run(request, *args, **kwargs)

    return view


def are_in(request: HttpRequest) -> bool:
    return _mode(request) is not None


def _mode(request: HttpRequest) -> str | None:
    return cloud_events.mode(request.headers.get("Content-Type", ""), _headers(request)) or None


def _headers(request: HttpRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _body(request: HttpRequest, mode: str) -> Any:
    """Raises problems 400, 413, 415 and 422."""
    if mode == "structured":
        return _event(parser.read(request, STRUCTURED))
    if mode == "batch":
        batch = parser.read(request, BATCH)
        if not isinstance(batch, list):
            raise invalid(FieldError("(body)", "A batch is a list of CloudEvents."))
        return [_event(one, f"{number}.") for number, one in enumerate(batch)]
    try:
        return _event(cloud_events.from_headers(_headers(request), parser.body(request)))
    except strict_json.Bad as error:
        raise parser.bad_json(error) from None


def _event(given: Any, place: str = "") -> dict[str, Any]:
    """`place` stands before the names of attributes in errors."""
    try:
        fields = cloud_events.read(given)
    except Malformed as malformed:
        raise invalid(*(FieldError(place + name or "(body)", why) for name, why in malformed.problems)) from None
    if "time" in fields:
        try:
            read_instant(fields["time"])
        except ValueError as error:
            raise invalid(FieldError(f"{place}time", str(error))) from None
        fields["occurred_at"] = fields.pop("time")
    return fields
