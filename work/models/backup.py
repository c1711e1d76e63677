"""The good backups, so that operators hear when the newest one is old."""

from django.db import models
from django.db.models.functions import Now


class Backup(models.Model):
    """`taken_at` is the time of its data, `size` in bytes."""

    taken_at = models.DateTimeField()
    finished_at = models.DateTimeField(db_default=Now())
    name = models.CharField(max_length=200)
    size = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["-taken_at"], name="backup_newest")]
