"""Apprise's services, held to the door: what they take for the module `requests` is an object of ours.

Their code calls `requests.post(…)`, and finds the name in its own module. There `load` puts a stand-in, whose calls go
through `notifications.net.http`: guarded, bounded, verified and without redirects, whatever the service asks for.
Outside a visit it refuses. No library is patched, so nothing else of this process is changed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import isclass
from types import SimpleNamespace
from typing import Any

import requests
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from notifications.net import http
from notifications.providers.apprise_services import SERVICES

# It tells of addresses and payloads.
logging.getLogger("apprise").setLevel(logging.CRITICAL)


@dataclass(slots=True)
class Visit:
    """What a service did at the door. `expires` is of the monotonic clock; with `looking`, nothing is said."""

    expires: float
    looking: bool = False
    responses: list[http.Response] = field(default_factory=list)
    refusal: str = ""
    failure: http.NotSent | http.Unanswered | None = None


_current: ContextVar[Visit | None] = ContextVar("visit", default=None)


@contextmanager
def visit(seconds: float, looking: bool = False) -> Iterator[Visit]:
    """Let the service that is called inside the block through the door, for `seconds` in all."""
    under_way = Visit(time.monotonic() + seconds, looking)
    token = _current.set(under_way)
    try:
        yield under_way
    finally:
        _current.reset(token)


@cache
def load(scheme: str) -> Any:
    """Return the class that speaks for `scheme`, behind the door. Raises KeyError for one that is not allowed."""
    from apprise.plugins.base import NotifyBase

    module = import_module(f"apprise.plugins.{SERVICES[scheme]}")
    module.requests = _STAND_IN  # type: ignore[attr-defined]
    for found in vars(module).values():
        if isclass(found) and issubclass(found, NotifyBase) and scheme in schemes_of(found):
            return found
    raise KeyError(scheme)


def schemes_of(service: Any) -> set[str]:
    """Return the schemes of a service's addresses."""
    named = (service.protocol, service.secure_protocol)
    return {scheme for names in named for scheme in ([names] if isinstance(names, str) else names or ())}


def _request(
    method: str,
    url: str,
    *,
    params: Any = None,
    data: Any = None,
    json: Any = None,
    headers: Any = None,
    auth: Any = None,
    files: Any = None,
    verify: object = True,
    timeout: object = None,
    allow_redirects: object = False,
) -> requests.Response:
    """Make the request. What the service wishes of `verify`, `timeout` and `allow_redirects` is not heeded."""
    under_way = _current.get()
    if under_way is None:
        raise requests.ConnectionError("nobody is sending")
    prepared = requests.Request(method, url, headers, files, data, params, auth, json=json).prepare()
    if under_way.looking:
        try:
            http.examine(prepared.url or "", max(0.0, under_way.expires - time.monotonic()))
        except http.NotSent as refusal:
            under_way.refusal = under_way.refusal or refusal.reason
        raise requests.ConnectionError("only looking")
    body = prepared.body or b""
    try:
        answer = http.request(
            method,
            prepared.url or "",
            body=body.encode() if isinstance(body, str) else body,
            headers={name: value for name, value in prepared.headers.items() if name.lower() != "content-length"},
            deadline=max(0.0, under_way.expires - time.monotonic()),
        )
    except (http.NotSent, http.Unanswered) as failure:
        # One that may have arrived outweighs all that did not.
        if not isinstance(under_way.failure, http.Unanswered):
            under_way.failure = failure
        raise requests.ConnectionError("the door gave no answer") from None
    under_way.responses.append(answer)
    response = requests.Response()
    response.status_code = answer.status
    response.headers = CaseInsensitiveDict(answer.headers)
    response.encoding = get_encoding_from_headers(response.headers)
    response.url = prepared.url or ""
    response._content = answer.body
    return response


def _method(name: str) -> Any:
    return lambda url, data=None, **options: _request(name, url, data=data, **options)


# What the services use of `requests`, and nothing else: a session, say, is an AttributeError.
_STAND_IN = SimpleNamespace(
    request=_request,
    get=lambda url, params=None, **options: _request("GET", url, params=params, **options),
    post=_method("POST"),
    put=_method("PUT"),
    patch=_method("PATCH"),
    delete=_method("DELETE"),
    codes=requests.codes,
    Response=requests.Response,
    RequestException=requests.RequestException,
    ConnectionError=requests.ConnectionError,
    Timeout=requests.Timeout,
    TooManyRedirects=requests.TooManyRedirects,
)
