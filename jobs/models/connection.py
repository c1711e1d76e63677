"""A person's account at a source that jobs look at, with its secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from common import encryption
from common.uuid7 import uuid7
from work.reasons import sentence

if TYPE_CHECKING:
    from people.models import User


class ConnectionQuerySet(models.QuerySet["Connection"]):
    def for_user(self, user: User) -> ConnectionQuerySet:
        """The connections that `user` sees: their own, less those removed."""
        return self.filter(user=user, removed_at=None)


class Connection(models.Model):
    """A person's account at a source: GitHub, a web address, a calendar.

    `address` is public to its owner; `sealed_secrets` is ciphertext, written by `hold()` only. A look that the source
    refuses for its secret disables it; `disabled_code` says why. `version` grows with every edit.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections", db_index=False
    )
    kind = models.CharField(max_length=40)
    label = models.CharField(max_length=100)
    address = models.JSONField(default=dict)
    sealed_secrets = models.TextField(blank=True, editable=False)
    verified_at = models.DateTimeField(null=True, editable=False)
    # Since then, no look has succeeded.
    failing_since = models.DateTimeField(null=True, editable=False)
    last_ok_at = models.DateTimeField(null=True, editable=False)
    disabled_at = models.DateTimeField(null=True, editable=False)
    disabled_code = models.CharField(max_length=32, db_default="", blank=True, editable=False)
    disabled_params = models.JSONField(default=dict, db_default={}, editable=False)
    removed_at = models.DateTimeField(null=True, editable=False)
    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager[Connection]] = ConnectionQuerySet.as_manager()

    class Meta:
        ordering = ["label", "id"]
        indexes = [
            # a person's list, and who has connected a kind of source
            models.Index(fields=["user", "kind"], condition=Q(removed_at=None), name="connection_of_person"),
            models.Index(fields=["kind", "user"], condition=Q(removed_at=None), name="connection_of_kind"),
        ]

    def __str__(self) -> str:
        return self.label

    def hold(self, address: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        """Take over an address and its secrets; the caller saves."""
        self.address = dict(address)
        self.sealed_secrets = encryption.seal_secrets(secrets, self.id)

    def secrets(self) -> dict[str, str]:
        """Raises `encryption.Unreadable` without the key."""
        return encryption.unseal_secrets(self.sealed_secrets, self.id)

    @property
    def disabled_reason(self) -> str:
        return sentence(self.disabled_code, self.disabled_params)
