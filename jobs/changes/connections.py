"""Every change of a connection: add, edit, check, remove. Its health changes with checks, too: `deciding`."""

from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from common.database import encryption
from common.database.postgres import lend_connection
from common.forms.not_possible import NotPossible
from common.redis import rate_limiter
from common.redis.rate_limiter import Window
from common.uuid7 import uuid7
from jobs import connections
from jobs.connections.base import ConnectionKind
from jobs.models import Connection
from jobs.reading.fetch import Fetch, Later, Refused, outcome
from jobs.reasons import JobCode
from notifications.messages.message import Destination
from people.models import User
from people.user_lock import lock_user
from work.reasons import Reason

CHECKS_A_MINUTE = 10


class ConnectionConflict(Exception):
    """The connection has changed since it was read."""


def ask(user: User, kind: ConnectionKind, stored: Destination) -> Destination | Later | Refused:
    """Return the destination as its source has it, or why the source does not answer to it. Outside of transactions.

    Raises NotPossible: each question keeps a process waiting for a stranger.
    """
    if not rate_limiter.allows(Window(f"connection-checks:{user.pk}", CHECKS_A_MINUTE, 60.0)):
        raise NotPossible(
            _("You have checked %(count)s times within a minute, which is the limit. Wait a minute.")
            % {"count": CHECKS_A_MINUTE}
        )
    lend_connection()
    answer = outcome(partial(kind.check, stored, Fetch(kind.deadline)))
    return answer if isinstance(answer, Later | Refused) else Destination(answer, stored.secrets)


def add(
    user: User,
    kind: ConnectionKind,
    destination: Destination,
    label: str,
    *,
    checked: bool,
    connection_id: UUID | None = None,
) -> Connection:
    """Add a connection; `checked`: its source has answered to it. The label defaults to the kind's.

    Raises NotPossible, and IntegrityError if `connection_id`, from a form, exists already.
    """
    with lock_user(user):
        if Connection.objects.for_user(user).count() >= settings.MOST_CONNECTIONS:
            raise NotPossible(
                _("You have %(count)s connections, which is the limit. Remove one.")
                % {"count": settings.MOST_CONNECTIONS}
            )
        connection = Connection(id=connection_id or uuid7(), user=user, kind=kind.name, label=label or str(kind.label))
        if checked:
            connection.verified_at = connection.working_since = Now()
        connection.hold(destination)
        connection.save(force_insert=True)
        connection.refresh_from_db()
        return connection


def has_changed(kind: ConnectionKind, stored: Destination, after: Destination) -> bool:
    """Whether another address or secret was entered, so that the source must be asked again."""
    shown = kind.form_initial(stored) != kind.form_initial(after)
    return shown or dict(stored.secrets) != dict(after.secrets)


def change(read: Connection, label: str, after: Destination | None) -> Connection:
    """Give the connection a label and, unless None, the address and secrets `after`, to which its source has answered.

    Raises ConnectionConflict where it is not the version that was `read`.
    """
    with lock_user(read.user):
        fields: dict[str, Any] = {"label": label, "version": F("version") + 1}
        if after is not None:
            read.hold(after)
            fields |= {"address": read.address, "sealed_secrets": read.sealed_secrets}
        current = Connection.objects.filter(id=read.id, version=read.version, removed_at=None)
        written = current.update(**fields) if after is None else current.note_success(verified_at=Now(), **fields)
        if not written:
            raise ConnectionConflict
    return Connection.objects.get(id=read.id)


def check(connection: Connection) -> Reason | None:
    """Ask the source now, and write what becomes of it. Returns why it does not answer, None if it does.

    Raises NotPossible.
    """
    if (kind := connections.find(connection.kind)) is None:
        return Reason(JobCode.NO_CONNECTION_KIND, kind=connection.kind)
    try:
        answer = ask(connection.user, kind, connection.destination())
    except encryption.Unreadable:
        return Reason(JobCode.CONNECTION_UNREADABLE)
    # Not the secrets that somebody has entered meanwhile.
    unchanged = Connection.objects.filter(id=connection.id, version=connection.version, removed_at=None)
    if isinstance(answer, Destination):
        unchanged.note_success(address=dict(answer.address))
        return None
    unchanged.note_failure(answer.reason, isinstance(answer, Refused) and answer.disconnect)
    return answer.reason


def remove(connection: Connection) -> None:
    """Erase its secrets. Reminders that use it fail, and their person is told."""
    Connection.objects.filter(id=connection.id, removed_at=None).update(
        removed_at=Now(), sealed_secrets="", version=F("version") + 1
    )
