"""Types of events that people and operators have registered, with the schema of their data."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.models import DatedRow
from people.models import User
from people.models.owned import OwnedQuerySet


class RegisteredTypeQuerySet(OwnedQuerySet["RegisteredType"]):
    def for_user(self, user: User) -> RegisteredTypeQuerySet:
        """Their own, and those for everybody."""
        return self.filter(Q(user=user) | Q(user=None))


class RegisteredType(DatedRow):
    """A type with a JSON Schema for the data of its events: a person's own, or, without one, everybody's.

    A person's own comes before everybody's of that name. `data_schema` is the text as its author wrote it; `emitted_by`
    and `handled_by` are for people. `version` grows with every edit: see `events.intake.registered`.
    """

    class OnMisfit(models.TextChoices):
        REFUSE = "refuse", _("Refuse it")
        WARN = "warn", _("Handle it, with a warning")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="registered_types",
        db_index=False,
    )
    name = models.CharField(_("type"), max_length=100)
    summary = models.CharField(_("summary"), max_length=200, blank=True)
    data_schema = models.TextField(_("schema"))
    emitted_by = models.CharField(_("emitted by"), max_length=200, blank=True)
    handled_by = models.CharField(_("handled by"), max_length=200, blank=True)
    on_misfit = models.CharField(max_length=6, choices=OnMisfit.choices, default=OnMisfit.REFUSE)
    version = models.PositiveIntegerField(_("version"), default=1)

    objects: ClassVar[models.Manager[RegisteredType]] = RegisteredTypeQuerySet.as_manager()

    class Meta:
        verbose_name = _("registered type")
        verbose_name_plural = _("registered types")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="registered_type_once"),
            models.UniqueConstraint(fields=["name"], condition=Q(user=None), name="registered_type_of_all"),
            checks.readable("registered_type_instant", "created_at"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_for_everybody(self) -> bool:
        return self.user_id is None

    @property
    def refuses(self) -> bool:
        return self.on_misfit == self.OnMisfit.REFUSE
