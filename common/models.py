"""Facts that an installation stores about itself, and the columns that many tables share."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.uuid7 import uuid7


class Row(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


class DatedRow(Row):
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        abstract = True


class KeyCheck(models.Model):
    """A known text, sealed: whoever cannot read it has none of the keys that sealed the secrets here. One row."""

    id = models.SmallAutoField(primary_key=True)
    sealed = models.TextField()

    class Meta:
        verbose_name = _("key check")
        verbose_name_plural = _("key checks")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="key_check_once")]
