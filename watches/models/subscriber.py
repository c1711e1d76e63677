"""Subscribers of a status page, and the mails that tell them of its incidents."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.uuid7 import uuid7
from watches.models.status_page import PublicIncident, StatusPage
from work.models import Attempt, Words, Work

WORDS = Words(working="sending", done="sent", key="mail")


class Subscriber(models.Model):
    """An address, which gets incidents once its reader has confirmed it, until `expires_at`.

    With neither `confirmed_at` nor `expires_at`, its reader refused. Who unsubscribes has no row.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
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
            models.CheckConstraint(
                condition=checks.instants(nullable=("confirmed_at", "expires_at")), name="subscriber_readable"
            ),
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
