"""The chain of causes of a request, in a signed header, so that our own inbound addresses go on counting its hops."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, unquote

from django.core.signing import BadSignature, Signer

HEADER = "Carillon-Chain"
_NONE: Mapping[str, str] = {}
_current: ContextVar[Mapping[str, str]] = ContextVar("chain", default=_NONE)


@contextmanager
def within(correlation_id: str, hops: int) -> Iterator[None]:
    """Requests that are made inside the block are of this chain, so many steps behind its first cause."""
    token = _current.set({HEADER: _signer().sign(f"{hops} {quote(correlation_id)}")})
    try:
        yield
    finally:
        _current.reset(token)


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
