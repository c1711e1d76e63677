"""The kinds of connection: what a person can connect, for jobs to look at.

To add one, add its file, and name it here.
"""

from jobs.connections.address import Address
from jobs.connections.base import ConnectionKind
from jobs.connections.calendar import Calendar
from jobs.connections.github import GitHub

_KINDS: dict[str, ConnectionKind] = {kind.name: kind for kind in (GitHub(), Calendar(), Address())}


def all() -> list[ConnectionKind]:
    """Return every kind, in the order in which pages list them."""
    return list(_KINDS.values())


def find(name: str) -> ConnectionKind | None:
    """Return the kind of this name; None where a stored row names one that is not installed."""
    return _KINDS.get(name)


def label(name: str) -> str:
    """Return what people call this kind; the name itself where there is none."""
    kind = find(name)
    return name if kind is None else str(kind.label)
