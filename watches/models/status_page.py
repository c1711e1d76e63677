"""Status pages, which anybody may read who knows their address, what they show, and whom they mail."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.models import Row
from people.models.owned import OwnedQuerySet
from watches.models.badge import new_token
from watches.models.watch import Watch
from work.models import Attempt, Words, Work


class StatusPageQuerySet(OwnedQuerySet["StatusPage"]):
    def public(self, slug: str) -> StatusPage | None:
        """The page that strangers see at this address, with its owner."""
        return self.select_related("user").filter(slug=slug, enabled=True, user__is_active=True).first()


class StatusPage(Row):
    """Chosen watches by their names, and incidents in the words of its owner. Strangers see it while it is `enabled`.

    Its address ends with `slug`: a secret one, or a word that its owner chose.
    """

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


class PublicIncident(Row):
    """An incident as a status page shows it; over once it has `ended_at`."""

    page = models.ForeignKey(StatusPage, on_delete=models.CASCADE, related_name="incidents", db_index=False)
    title = models.CharField(_("title"), max_length=120)
    text = models.TextField(blank=True, max_length=4_000)
    began_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-began_at"]
        indexes = [models.Index(fields=["page", "-began_at"], name="public_incident_of_page")]
        constraints = [checks.readable("public_incident_readable", "began_at", "updated_at", nullable=("ended_at",))]

    def __str__(self) -> str:
        return self.title


WORDS = Words(working="sending", done="sent", key="mail")


class Subscriber(Row):
    """An address, which gets incidents once its reader has confirmed it, until `expires_at`.

    With neither `confirmed_at` nor `expires_at`, its reader refused. Who unsubscribes has no row.
    """

    page = models.ForeignKey(StatusPage, on_delete=models.CASCADE, related_name="subscribers", db_index=False)
    address = models.EmailField()
    confirmed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["address"]
        indexes = [
            # prune: those that were not confirmed
            models.Index(fields=["expires_at"], condition=Q(expires_at__isnull=False), name="subscriber_to_confirm")
        ]
        constraints = [
            models.UniqueConstraint(fields=["page", "address"], name="subscriber_once"),
            checks.readable("subscriber_readable", nullable=("confirmed_at", "expires_at")),
        ]

    def __str__(self) -> str:
        return self.address


class StatusMail(Work):
    """A mail to a subscriber: of an incident, or without one, that asks to confirm.

    It is written when it is sent. So one that waits says everything that was published of its incident until then.
    """

    class Type(models.TextChoices):
        CONFIRM = "confirm", _("confirmation")
        OPENED = "opened", _("new incident")
        UPDATED = "updated", _("update")

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    subscriber = models.ForeignKey(Subscriber, on_delete=models.CASCADE, related_name="+", db_index=False)
    incident = models.ForeignKey(PublicIncident, on_delete=models.CASCADE, related_name="+", null=True)
    what = models.CharField(_("message"), max_length=8, choices=Type.choices)

    class Meta(Work.Meta):
        verbose_name = _("status mail")
        verbose_name_plural = _("status mails")
        indexes = [*WORDS.indexes(), models.Index(fields=["subscriber"], name="status_mail_of_subscriber")]
        constraints = WORDS.constraints()
        triggers = WORDS.triggers()

    def __str__(self) -> str:
        return f"{self.get_what_display()}: {self.id}"


class DeadLetter(StatusMail):
    """A status mail that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("failed status mail")


class StatusMailAttempt(Attempt):
    mail = models.ForeignKey(StatusMail, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()
