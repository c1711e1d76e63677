"""Open a connection, for a look through it."""

from __future__ import annotations

from common import encryption
from jobs.kinds.base import Source
from jobs.models import Connection
from jobs.reasons import Code
from work.reasons import Reason


def open_connection(connection: Connection) -> Source | Reason:
    """The connection with its secrets, or why it cannot be used."""
    if connection.removed_at is not None:
        return Reason(Code.NO_CONNECTION)
    if connection.disabled_at is not None:
        why = Reason(connection.failing_code, **connection.failing_params)
        return Reason(Code.CONNECTION_DISABLED, label=connection.label, why=why)
    try:
        there = connection.destination()
    except encryption.Unreadable:
        return Reason(Code.CONNECTION_UNREADABLE)
    return Source(
        id=connection.id,
        label=connection.label,
        address=there.address,
        secrets=there.secrets,
        version=connection.version,
    )
