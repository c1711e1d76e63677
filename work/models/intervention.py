"""Actions on dead letters: who, when, what, which letters, why; and the daily emails that were sent."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database.triggers import changed, refuse


class Intervention(models.Model):
    """One act, on dead letters of one kind of work. Rows never change, and are kept `INTERVENTIONS_KEPT_DAYS`.

    `kind` is the kind's name. `who` names the person as they were called then, an email address or, at the command
    line, a login name; `by` is their account while it exists. `which` says in words what was chosen. `per_minute` is
    the rate of a replay, None where all were due at once.
    """

    class Action(models.TextChoices):
        REPLAYED = "replayed", _("replayed")
        TESTED = "tested", _("replayed one to test")
        DISCARDED = "discarded", _("discarded")
        AS_NEW = "as-new", _("sent as new")
        FIXED = "fixed", _("marked as fixed")

    at = models.DateTimeField(db_default=Now(), editable=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    who = models.CharField(_("who"), max_length=254)
    what = models.CharField(_("what"), max_length=9, choices=Action.choices)
    kind = models.CharField(_("kind of work"), max_length=64)
    which = models.CharField(_("which"), max_length=500)
    cause = models.CharField(_("cause"), max_length=64, blank=True)
    count = models.PositiveIntegerField(_("count"))
    per_minute = models.PositiveIntegerField(null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("intervention")
        verbose_name_plural = _("interventions")
        ordering = ["-id"]
        indexes = [
            # what has been done about one cause
            models.Index(fields=["cause", "-id"], condition=~models.Q(cause=""), name="intervention_of_cause")
        ]
        triggers = [
            # `by` may become null: an account can be deleted.
            refuse(
                "intervention_never_changes",
                pgtrigger.Update,
                "An intervention never changes.",
                condition="NEW.by_id IS NOT NULL OR "
                + changed("id", "at", "who", "what", "kind", "which", "cause", "count", "per_minute", "reason"),
            ),
            refuse(
                "intervention_kept",
                pgtrigger.Delete,
                "An intervention is kept for a month at least.",
                condition="OLD.at > now() - interval '30 days'",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.what} by {self.who}"


class InterventionItem(models.Model):
    """A piece of work that an intervention touched. It stays when the work is deleted, whose table depends on the kind.

    The first column of the primary key finds what an intervention touched.
    """

    pk = models.CompositePrimaryKey("intervention_id", "work_id")
    intervention = models.ForeignKey(Intervention, on_delete=models.CASCADE, related_name="items", db_index=False)
    work_id = models.UUIDField(db_index=True)  # what was done to one piece of work


class Summary(models.Model):
    """The mail of one day (UTC) to one operator. The row is written before the mail goes, so that it goes once."""

    day = models.DateField()
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        verbose_name = _("summary")
        verbose_name_plural = _("summaries")
        constraints = [models.UniqueConstraint(fields=["day", "reader"], name="summary_once_a_day")]
