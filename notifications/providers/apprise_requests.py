"""A replacement for the module `requests` in Apprise's services, so that they use the guarded HTTP client.

A service calls `requests.post(…)` and finds `requests` in its own module. `load` sets that name to our replacement. Its
calls go through `notifications.net.http`, whatever options the service passes, and fail outside `guarded`. The library
itself is not patched, so nothing else in this process changes.
"""

import logging
import time
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import isclass
from types import SimpleNamespace
from typing import Any, NoReturn

import requests
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from common.context import holding
from notifications.net import http
from notifications.net.address_field import remedy
from notifications.providers.apprise_services import SERVICES

# It logs addresses and payloads.
logging.getLogger("apprise").setLevel(logging.CRITICAL)


@dataclass(slots=True)
class Calls:
    """Requests of a service. `expires` is on the monotonic clock; with `probe_only`, nothing is sent."""

    expires: float
    probe_only: bool = False
    responses: list[http.Response] = field(default_factory=list)
    refusal: str = ""
    failure: http.RequestFailed | None = None


_current: ContextVar[Calls | None] = ContextVar("calls", default=None)


def guarded(seconds: float, probe_only: bool = False) -> AbstractContextManager[Calls]:
    """Allow the services that are called inside the block to make requests, for `seconds` in all."""
    return holding(_current, Calls(time.monotonic() + seconds, probe_only))


@cache
def load(scheme: str) -> Any:
    """Return the service's class for `scheme`. Raises KeyError for a scheme that is not allowed."""
    from apprise.plugins.base import NotifyBase

    module = import_module(f"apprise.plugins.{SERVICES[scheme]}")
    module.requests = _REPLACEMENT  # type: ignore[attr-defined]
    # We send no attachments, so a file would be one that somebody named in a URL.
    module.open = _refuse_file  # type: ignore[attr-defined]
    if hasattr(module, "AppriseAttachment"):
        module.AppriseAttachment = _NoAttachments  # type: ignore[attr-defined]
    for value in vars(module).values():
        if isclass(value) and issubclass(value, NotifyBase) and scheme in schemes_of(value):
            return value
    raise KeyError(scheme)


def _refuse_file(*_: Any, **__: Any) -> Any:
    raise OSError("services read no files")


class _NoAttachments(list[Any]):
    def __init__(self, **_: Any) -> None:
        super().__init__()

    def add(self, source: object) -> bool:
        return False


def schemes_of(service: Any) -> set[str]:
    named = (service.protocol, service.secure_protocol)
    return {scheme for names in named for scheme in ([names] if isinstance(names, str) else names or ())}


class _Guarded(requests.Session):
    """Prepares requests as `requests` does, and sends them by the guarded client, whatever options a service passes."""

    def __init__(self) -> None:
        super().__init__()
        self.headers.clear()
        self.trust_env = False

    def send(self, request: requests.PreparedRequest, **_ignored: Any) -> requests.Response:
        if (calls := _current.get()) is None:
            raise requests.ConnectionError("call this inside guarded()")
        url, left = request.url or "", max(0.0, calls.expires - time.monotonic())
        if calls.probe_only:
            _probe(calls, url, left)
        body: Any = request.body or b""
        try:
            answer = http.request(
                request.method or "",
                url,
                body=body.encode() if isinstance(body, str) else body,
                headers={name: value for name, value in request.headers.items() if name.lower() != "content-length"},
                deadline=left,
            )
        except http.RequestFailed as failure:
            # A request that may have arrived matters more than those that did not.
            if not isinstance(calls.failure, http.Unanswered):
                calls.failure = failure
            raise requests.ConnectionError("no answer") from None
        calls.responses.append(answer)
        response = requests.Response()
        response.status_code = answer.status
        response.headers = CaseInsensitiveDict(answer.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.url = url
        response._content = answer.body
        return response


def _probe(calls: Calls, url: str, left: float) -> NoReturn:
    """Note why the address would be refused. For the service it is as if nobody answered."""
    try:
        http.probe(url, left)
    except http.NotSent as refusal:
        calls.refusal = calls.refusal or remedy(refusal)
    raise requests.ConnectionError("probe only")


_session = _Guarded()

# Only what the services use of `requests`: a session, for example, is an AttributeError.
_REPLACEMENT = SimpleNamespace(
    **{name: getattr(_session, name) for name in ("request", "get", "post", "put", "delete")},
    codes=requests.codes,
    RequestException=requests.RequestException,
    TooManyRedirects=requests.TooManyRedirects,
)
