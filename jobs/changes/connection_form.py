"""The form of a connection, for pages and the API: what was typed is valid when its source answers to it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import NotPossible
from jobs.changes import connections
from jobs.connections.base import ConnectionKind
from jobs.models import Connection
from jobs.reading.fetch import Later
from notifications.channels.forms import change_form, name_field
from notifications.messages.message import Destination
from notifications.net import address_checks
from people.models import User


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
        self._asked = False

    def is_valid(self, *, ask: bool = True) -> bool:
        """Whether all is valid, and the source answers where another address or secret was entered.

        Give `ask=False` inside a transaction: the source is not asked, and the connection stays unchecked.
        """
        if not address_checks.are_valid(self.user.pk, self.details, self.label, visits=ask):
            return False
        after = self.kind.destination(self.details.cleaned_data)
        if self._stored is not None and not connections.has_changed(self.kind, self._stored, after):
            return True
        self._after, self._asked = after, ask
        if not ask:
            return True
        try:
            answer = connections.ask(self.user, self.kind, after)
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
        """Write what is valid. Raises NotPossible or ConnectionConflict; for `made_as`, see `connections.add`."""
        label = self.label.cleaned_data["label"] or str(self.kind.label)
        if self.connection is not None:
            return connections.change(self.connection, label, self._after)
        assert self._after is not None  # noqa: S101 - a new one always has a destination
        return connections.add(self.user, self.kind, self._after, label, checked=self._asked, connection_id=made_as)
