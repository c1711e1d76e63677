"""Rows of the beats: their heartbeats, and the data of time zones that they have seen."""

from django.db import models
from django.db.models.functions import Now


class ZoneDigest(models.Model):
    """The digest of a time zone's data when next slots were last computed with it; see `beat.zone_updates`."""

    zone = models.CharField(max_length=64, primary_key=True)
    digest = models.CharField(max_length=64)


class Heartbeat(models.Model):
    """A time without a gap in which one beat process (`host:pid`) was seen.

    `work` is how many schedules it fired between its last two heartbeats, `total` since `started_at`. No index holds
    a column that a heartbeat changes: PostgreSQL then writes less than half as much, and the table is small.
    """

    process = models.CharField(max_length=200)
    started_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())
    work = models.PositiveIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["-last_seen_at"]
