"""Status pages, which anybody may read who knows their address, and what they show."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.uuid7 import uuid7
from people.models.owned import OwnedQuerySet
from watches.models.badge import new_token
from watches.models.watch import Watch


class StatusPageQuerySet(OwnedQuerySet["StatusPage"]):
    def public(self, slug: str) -> StatusPage | None:
        """The page that strangers see at this address, with its owner."""
        return self.select_related("user").filter(slug=slug, enabled=True, user__is_active=True).first()


class StatusPage(models.Model):
    """Chosen watches by their names, and incidents in the words of its owner. Strangers see it while it is `enabled`.

    Its address ends with `slug`: a secret one, or a word that its owner chose.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    title = models.CharField(_("title"), max_length=80)
    slug = models.SlugField(max_length=50, unique=True, default=new_token)
    intro = models.TextField(blank=True, max_length=1_000)
    watches = models.ManyToManyField(Watch, related_name="+", blank=True)
    enabled = models.BooleanField(default=True)

    objects: ClassVar[models.Manager[StatusPage]] = StatusPageQuerySet.as_manager()

    class Meta:
        ordering = ["title", "id"]

    def __str__(self) -> str:
        return self.title

    @property
    def url(self) -> str:
        return f"{settings.BASE_URL}/status/{self.slug}/"


class PublicIncident(models.Model):
    """An incident as a status page shows it; over once it has `ended_at`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    page = models.ForeignKey(StatusPage, on_delete=models.CASCADE, related_name="incidents", db_index=False)
    title = models.CharField(_("title"), max_length=120)
    text = models.TextField(blank=True, max_length=4_000)
    began_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-began_at"]
        indexes = [models.Index(fields=["page", "-began_at"], name="public_incident_of_page")]
        constraints = [
            models.CheckConstraint(
                condition=checks.instants("began_at", "updated_at", nullable=("ended_at",)),
                name="public_incident_readable",
            )
        ]

    def __str__(self) -> str:
        return self.title
