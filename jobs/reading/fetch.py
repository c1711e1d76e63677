"""Read from a source through the guarded HTTP client: a deadline for all of it, a size, and a few redirects."""

import re
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext_noop as _

from common.parsing.budget import OverBudget
from jobs.reasons import JobCode
from notifications.net import http
from notifications.net.http import RequestFailed, Response
from notifications.net.post import retry_later
from work.answers import Retryable
from work.reasons import Reason

_SOURCE = _("The source")
MOST_BYTES = 2 * 1024 * 1024
MOST_REDIRECTS = 5
T = TypeVar("T")
_REDIRECTS = (301, 302, 303, 307, 308)


Later = Retryable
"""The source cannot say now."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No retry can succeed before somebody changes something. `disconnect`: the connection's secret is not taken."""

    reason: Reason
    disconnect: bool = False


class Unfit(Exception):
    """The source answered what is not read."""

    def __init__(self, answer: Later | Refused) -> None:
        super().__init__(str(answer.reason))
        self.answer = answer


class NotModified(Exception):
    """The known answer is still valid."""


class Fetch:
    """The requests of one check. `etag` and `modified` are those of the answer that is known; after a request, its own.

    A request raises NotSent, Unanswered, Unfit, or NotModified where the source says so.
    """

    def __init__(self, deadline: float, etag: str = "", modified: str = "") -> None:
        self.etag, self.modified = etag, modified
        self._expires = time.monotonic() + deadline

    def get(self, url: str, headers: Mapping[str, str] | None = None, *, service: str = _SOURCE) -> Response:
        """Get a page, through at most five redirects. `headers` go to its own origin only: they may hold a secret."""
        validators = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        conditions = {name: value for name, value in validators.items() if value}
        requested = conditions | dict(headers or {})
        self.etag = self.modified = ""  # a failure is not what they name
        first = origin(url)
        for _hop in range(MOST_REDIRECTS + 1):
            response = self._request("GET", url, requested if origin(url) == first else {}, b"", service)
            if response.status == 304 and conditions:
                raise NotModified
            if not (url := _moved_to(url, response, service)):
                if 200 <= response.status < 300:
                    self.etag = _name(response, "ETag", 500)
                    self.modified = _name(response, "Last-Modified", 100)
                return response
        raise Unfit(Refused(Reason(JobCode.MOVED_TOO_OFTEN, service=service, most=MOST_REDIRECTS)))

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, service: str = _SOURCE) -> Response:
        """Post; no redirect is followed."""
        return self._request("POST", url, headers, body, service)

    def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes, service: str) -> Response:
        left = max(0.001, self._expires - time.monotonic())
        response = http.request(method, url, body=body, headers=headers, deadline=left, most=MOST_BYTES + 1)
        if len(response.body) > MOST_BYTES:
            raise Unfit(Refused(Reason(JobCode.TOO_LARGE, service=service, most=MOST_BYTES)))
        if response.broken and 200 <= response.status < 300:
            raise Unfit(Later(response.broken))
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if not encoding and response.body.startswith(_GZIP):  # a file such as feed.xml.gz
            encoding = "gzip"
        if response.body and _COMPRESSIONS.search(encoding):
            return replace(response, body=_unpacked(response.body, encoding, service))
        return response


def _moved_to(url: str, response: Response, service: str) -> str:
    """The address to which it redirects; "" for an answer that does not."""
    location = response.headers.get("Location")
    if response.status not in _REDIRECTS or not location:
        return ""
    try:
        return urljoin(url, location)
    except ValueError:
        raise Unfit(Refused(Reason(JobCode.MOVED_NOWHERE, service=service))) from None


_GZIP = b"\x1f\x8b\x08"
# Others, such as "UTF-8" or "none", are a mistake, as which browsers take them.
_COMPRESSIONS = re.compile(r"gzip|deflate|compress|\b(?:br|zstd|dcb|dcz)\b")
_MOST_MEMBERS = 100  # each copies what follows it


def _unpacked(body: bytes, encoding: str, service: str) -> bytes:
    """Decompress an answer that was compressed without being asked for. No more is unpacked than may be read."""
    body_of = None
    # "deflate" is written with a head by some, and without one by others.
    for bits in {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}.get(encoding, ()):
        try:
            body_of = _inflated(body, bits)
        except zlib.error:
            continue
        break
    if body_of is None:
        raise Unfit(Refused(Reason(JobCode.COMPRESSED, service=service, encoding=encoding[:40])))
    if len(body_of) > MOST_BYTES:
        raise Unfit(Refused(Reason(JobCode.TOO_LARGE, service=service, most=MOST_BYTES)))
    return body_of


def _inflated(body: bytes, bits: int) -> bytes | None:
    """All members of a gzip, up to a byte more than may be read; None if they are cut or too many."""
    result = b""
    for _member in range(_MOST_MEMBERS):
        unpacker = zlib.decompressobj(bits)
        result += unpacker.decompress(body, MOST_BYTES + 1 - len(result))
        if len(result) > MOST_BYTES:
            return result
        if not unpacker.eof:
            return None
        body = unpacker.unused_data
        if not body.startswith(_GZIP):
            return result
    return None


def origin(url: str) -> tuple[str, str]:
    """The scheme and the host with its port: who may see a secret that is for this address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", url  # no address, which the request will say
    return parts.scheme, parts.netloc


def _name(response: Response, header: str, longest: int) -> str:
    """A name of the answer's version, to ask with the next time; "" for one that cannot be sent back."""
    value = response.headers.get(header, "")
    return value if len(value) <= longest and value.isascii() and value.isprintable() else ""


def problem(response: Response, service: str, *, secret: bool = True, **params: Any) -> Later | Refused | None:
    """Return the problem of an answer that is not a success; None for a success.

    `secret`: whether one was sent, which the source then refused. `params` are added to the reason.
    """
    if 200 <= response.status < 300:
        return None
    if later := retry_later(service, response):
        return later
    code = JobCode.NOT_FOUND
    if response.status in (401, 403):
        code = JobCode.REFUSED if secret else JobCode.ASKS_FOR_SECRET
    reason = Reason(code, service=service, status=response.status, **params)
    return Refused(reason, disconnect=secret and response.status == 401)


def outcome(ask: Callable[[], T]) -> T | Later | Refused:
    """Return what `ask` returns, or what its exceptions mean. NotModified and ParsingUnavailable pass through."""
    try:
        return ask()
    except Unfit as unfit:
        return unfit.answer
    except RequestFailed as failure:
        return Refused(failure.reason) if failure.refused else Later(failure.reason)
    except OverBudget as limit:
        return over_budget(limit)


def over_budget(limit: OverBudget) -> Refused:
    """Refuse a question that costs too much, now and the next time."""
    return Refused(Reason(JobCode.OVER_BUDGET, limit=[limit.what, limit.most]))
