"""The chain of causes of a request, in a signed header, so that our own inbound addresses go on counting its hops."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from urllib.parse import quote, unquote

from django.core.signing import BadSignature, Signer

from common.context import holding

HEADER = "Carillon-Chain"
_NONE: Mapping[str, str] = {}
_current: ContextVar[Mapping[str, str]] = ContextVar("chain", default=_NONE)


def within(correlation_id: str, hops: int) -> AbstractContextManager[object]:
    """Requests that are made inside the block are of this chain, so many steps behind its first cause."""
    return holding(_current, {HEADER: _signer().sign(f"{hops} {quote(correlation_id)}")})


def headers() -> Mapping[str, str]:
    """The header of a request that is made now; none outside of a chain."""
    return _current.get()


def read(value: str) -> tuple[str, int] | None:
    """The correlation id and the hops in a header that came in; None unless this installation has signed it."""
    try:
        hops, correlation_id = _signer().unsign(value).split(" ")
        return unquote(correlation_id), int(hops)
    except (BadSignature, ValueError):
        return None


def _signer() -> Signer:
    return Signer(salt="notifications.chain")
