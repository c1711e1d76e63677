"""Every change of a connection: add, edit, check, remove; and its form, for pages and the API.

What was typed is valid when its source answers to it. The health of one changes with checks, too: `deciding`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _, gettext_lazy

from common.database import encryption
from common.database.postgres import lend_connection
from common.forms.edit_form import VersionConflict
from common.forms.not_possible import NotPossible
from common.redis import rate_limiter
from common.uuid7 import uuid7
from jobs import connections
from jobs.connections.base import ConnectionKind
from jobs.models import Connection
from jobs.reading.fetch import Fetch, Later, Refused, outcome
from jobs.reasons import JobCode
from notifications.channels.forms import change_form, name_field
from notifications.messages.message import Destination
from notifications.net import address_checks
from people.models import User
from people.user_lock import lock_user
from work.reasons import Reason

CHECKS_A_MINUTE = 10


def ask_source(user: User, kind: ConnectionKind, stored: Destination) -> Destination | Later | Refused:
    """Return the destination as its source has it, or why the source does not answer to it. Outside of transactions.

    Raises NotPossible: each question keeps a process waiting for a stranger.
    """
    if not rate_limiter.allows(f"connection-checks:{user.pk}", CHECKS_A_MINUTE, 60.0):
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

    Raises VersionConflict where it is not the version that was `read`.
    """
    with lock_user(read.user):
        fields: dict[str, Any] = {"label": label, "version": F("version") + 1}
        if after is not None:
            read.hold(after)
            fields |= {"address": read.address, "sealed_secrets": read.sealed_secrets}
        current = Connection.objects.filter(id=read.id, version=read.version, removed_at=None)
        written = current.update(**fields) if after is None else current.note_success(verified_at=Now(), **fields)
        if not written:
            raise VersionConflict(Connection.objects.get(id=read.id))
    return Connection.objects.get(id=read.id)


def check(connection: Connection) -> Reason | None:
    """Ask the source now, and write what becomes of it. Returns why it does not answer, None if it does.

    Raises NotPossible.
    """
    if (kind := connections.find(connection.kind)) is None:
        return Reason(JobCode.NO_CONNECTION_KIND, kind=connection.kind)
    try:
        answer = ask_source(connection.user, kind, connection.destination())
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


class LabelForm(forms.Form):
    label = name_field(required=False, help_text=gettext_lazy("Empty: the name of its kind."))


class ConnectionForm:
    """A new connection, or a change of `connection`. `posted` is None on GET.

    `details` are the kind's own fields: stored secrets are not shown, and one that is left empty is kept.
    """

    def __init__(
        self, user: User, kind: ConnectionKind, posted: Mapping[str, Any] | None, connection: Connection | None = None
    ) -> None:
        self.user, self.kind, self.connection = user, kind, connection
        self._stored = None if connection is None else connection.readable_destination()
        self.details: forms.Form = (
            kind.form(posted) if self._stored is None else change_form(posted, kind, self._stored)
        )
        self.label = LabelForm(posted, initial={"label": connection.label if connection else ""})
        self._after: Destination | None = None
        self._checked = False

    def is_valid(self, *, ask: bool = True) -> bool:
        """Whether all is valid, and the source answers where another address or secret was entered.

        Give `ask=False` inside a transaction: the source is not asked, and the connection stays unchecked.
        """
        if not address_checks.are_valid(self.user.pk, self.details, self.label, visits=ask):
            return False
        after = self.kind.destination(self.details.cleaned_data)
        if self._stored is not None and not has_changed(self.kind, self._stored, after):
            return True
        self._after, self._checked = after, ask
        if not ask:
            return True
        try:
            answer = ask_source(self.user, self.kind, after)
        except NotPossible as refusal:
            self.details.add_error(None, forms.ValidationError(str(refusal), "too_many_checks"))
            return False
        if not isinstance(answer, Destination):
            text = _("%(reason)s Try again later.") if isinstance(answer, Later) else "%(reason)s"
            self.details.add_error(None, forms.ValidationError(text % {"reason": answer.reason}, "refused"))
            return False
        self._after = answer
        return True

    def save(self, made_as: UUID | None = None) -> Connection:
        """Write what is valid. Raises NotPossible or VersionConflict; for `made_as`, see `add`."""
        label = self.label.cleaned_data["label"] or str(self.kind.label)
        if self.connection is not None:
            return change(self.connection, label, self._after)
        assert self._after is not None  # noqa: S101 - a new one always has a destination
        return add(self.user, self.kind, self._after, label, checked=self._checked, connection_id=made_as)
