"""A person's account at a source that jobs check, with its secrets."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from common.database.triggers import refuse_unreadable
from jobs import connections
from notifications.models.channel import Sealed
from people.models.owned import OwnedQuerySet
from work.reasons import Reason, sentence


class ConnectionQuerySet(OwnedQuerySet["Connection"]):
    visible = {"removed_at": None}

    def note_success(self, **fields: Any) -> int:
        """Write that the source answers; enables a connection that the source had refused. `fields` are written too."""
        noted: dict[str, Any] = {
            "verified_at": Coalesce(F("verified_at"), Now()),
            "working_since": Coalesce(F("working_since"), Now()),
            "failing_since": None,
            "failing_code": "",
            "failing_params": {},
            "disabled_at": None,
        }
        return self.update(**noted | fields)

    def note_failure(self, reason: Reason, disable: bool) -> int:
        """Write why the source does not answer. `disable`: it refuses the secret, so it is not asked again."""
        return self.update(
            working_since=None,
            failing_since=Coalesce(F("failing_since"), Now()),
            failing_code=reason.code,
            failing_params=reason.params,
            disabled_at=Coalesce(F("disabled_at"), Now()) if disable else F("disabled_at"),
        )


class Connection(Sealed):
    """A person's account at a source: GitHub, a web address, a calendar.

    `address` is public to its owner; `sealed_secrets` is ciphertext, written by `hold()` only. A check that the source
    refuses for its secret disables it; `failing_code` says why. `version` grows with every edit.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=40)
    label = models.CharField(_("label"), max_length=100)
    address = models.JSONField(default=dict)
    sealed_secrets = models.TextField(blank=True, editable=False)
    verified_at = models.DateTimeField(null=True, editable=False)
    # One of the two, once it was checked.
    working_since = models.DateTimeField(null=True, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    failing_code = models.CharField(max_length=32, db_default="", blank=True, editable=False)
    failing_params = models.JSONField(default=dict, db_default={}, editable=False)
    disabled_at = models.DateTimeField(null=True, editable=False)
    removed_at = models.DateTimeField(null=True, editable=False)
    version = models.PositiveIntegerField(_("version"), default=1, db_default=1, editable=False)

    objects: ClassVar[models.Manager[Connection]] = ConnectionQuerySet.as_manager()

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        ordering = ["label", "id"]
        indexes = [
            # a person's list, and who has connected a kind of source
            models.Index(fields=["user", "kind"], condition=Q(removed_at=None), name="connection_of_person"),
            models.Index(fields=["kind", "user"], condition=Q(removed_at=None), name="connection_of_kind"),
        ]
        triggers = [
            refuse_unreadable(
                *("verified_at", "working_since", "failing_since", "disabled_at", "removed_at", "created_at"),
                objects=["address"],
                json=["failing_params"],
            )
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def kind_label(self) -> str:
        return connections.label(self.kind)

    @property
    def summary(self) -> str:
        """The address in one line, without secrets."""
        kind = connections.find(self.kind)
        return kind.summary(self.address) if kind and isinstance(self.address, dict) else ""

    @property
    def state(self) -> str:
        """In one word: disabled, failing, working, or unchecked."""
        if self.disabled_at is not None:
            return "disabled"
        if self.failing_since is not None:
            return "failing"
        return "unchecked" if self.working_since is None else "working"

    @property
    def failing_reason(self) -> str:
        return sentence(self.failing_code, self.failing_params) if self.failing_code else ""
