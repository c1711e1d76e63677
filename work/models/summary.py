"""Which of the operators' daily mails have been sent."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


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

    def __str__(self) -> str:
        return f"{self.day}"
