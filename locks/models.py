"""Named locks."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.models import Row
from people.models.owned import OwnedQuerySet


class Lock(Row):
    """A lock of a person by its name, held until `expires_at`, an instant of the database's clock. See `leases`.

    `hashed` is of the token of who held it last, `fence` the number of that lease: each later one has a higher
    number. `holder` is what they call themselves.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="locks", db_index=False)
    name = models.CharField(_("name"), max_length=100)
    holder = models.CharField(_("holder"), max_length=100, blank=True)
    hashed = models.CharField(max_length=64, editable=False)
    fence = models.BigIntegerField(_("fence"))
    acquired_at = models.DateTimeField(_("acquired at"), editable=False)
    expires_at = models.DateTimeField(_("expires at"), editable=False)

    objects: ClassVar[models.Manager[Lock]] = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("lock")
        verbose_name_plural = _("locks")
        ordering = ["name"]
        # those that nobody has taken for long
        indexes = [models.Index(fields=["expires_at"], name="lock_expired")]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="lock_once"),
            checks.readable("lock_readable_instants", "acquired_at", "expires_at"),
        ]

    def __str__(self) -> str:
        return self.name
