"""Watches and their pings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import uuid4

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.storage import BUSY
from common.database.triggers import update_of
from common.models import Row
from notifications.models import Channel, SenderQuerySet
from schedules.models.schedule import Timed

DOWNTIME_DAYS = 92
"""Days whose downtime is kept."""

# A ping that comes after the deadline, before beat has noticed, ends a downtime too. Days are those of UTC.
_ENDED = """((OLD.state = 'down' AND NEW.state <> 'down') OR (OLD.deadline < NEW.last_ping_at
    AND NEW.deadline IS DISTINCT FROM OLD.deadline AND NEW.last_ping_at IS DISTINCT FROM OLD.last_ping_at))"""
_RECORD_DOWNTIME = f"""
    until := (CASE WHEN OLD.state = 'down' THEN NEW.state_since ELSE NEW.last_ping_at END) AT TIME ZONE 'UTC';
    since := (CASE WHEN OLD.state = 'down' THEN OLD.state_since ELSE OLD.deadline END) AT TIME ZONE 'UTC';
    since := greatest(since, until - interval '{DOWNTIME_DAYS} days');
    INSERT INTO watches_dailydowntime (watch_id, day, seconds)
    SELECT NEW.id, day, extract(epoch FROM least(until, day + interval '1 day') - greatest(since, day))
      FROM generate_series(date_trunc('day', since), until, interval '1 day') AS day
     WHERE greatest(since, day) < until
    ON CONFLICT (watch_id, day) DO UPDATE SET seconds = watches_dailydowntime.seconds + EXCLUDED.seconds;
    RETURN NULL;
"""  # noqa: S608 - constants only


class Watch(Timed):
    """Something that has to report by pings: every `period` seconds since the last one, or at the slots of its rule.

    `slots`: the next ones of the rule, so that a ping need not compute them; `is_over` where none follows. `deadline`,
    the end of the grace, is null while nothing is expected. `grace` and `longest_run` are in seconds.
    """

    class State(models.TextChoices):
        NEW = "new", _("New")
        UP = "up", _("Up")
        DOWN = "down", _("Down")
        PAUSED = "paused", _("Paused")

    SINCE = "since"
    """The kind of a watch that has `period`."""
    max_count = None
    """Unlike a schedule's, its rule has no last slot by number."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches", db_index=False)
    name = models.CharField(_("name"), max_length=80)
    description = models.TextField(_("description"), blank=True)
    token = models.UUIDField(unique=True, default=uuid4, editable=False)
    slug = models.CharField(max_length=100, default="", db_default="", blank=True)

    period = models.PositiveIntegerField(null=True, blank=True)
    rule = models.JSONField(null=True, blank=True)
    grace = models.PositiveIntegerField(_("grace"))
    longest_run = models.PositiveIntegerField(null=True, blank=True)
    # The name of the lock that a run holds; empty: none.
    lock = models.CharField(max_length=100, default="", db_default="", blank=True)
    # Words in the output of a ping that decide what it reports.
    success_words = ArrayField(models.CharField(max_length=60), default=list, db_default=[], blank=True)
    failure_words = ArrayField(models.CharField(max_length=60), default=list, db_default=[], blank=True)
    ignore_words = ArrayField(models.CharField(max_length=60), default=list, db_default=[], blank=True)

    channels = models.ManyToManyField(Channel, related_name="watches", blank=True)
    opens_incident = models.BooleanField(default=False)

    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.NEW)
    # Of a paused one: whether a ping leaves it paused.
    stays_paused = models.BooleanField(default=False)
    deadline = models.DateTimeField(null=True, blank=True, editable=False)
    slots = ArrayField(models.DateTimeField(), default=list, db_default=[], editable=False)
    is_over = models.BooleanField(default=False, editable=False)
    state_since = models.DateTimeField(db_default=Now(), editable=False)
    # From when the next ping is expected: the last success or the first ping, or when it was resumed or restored.
    counted_from = models.DateTimeField(null=True, editable=False)
    # A miss or a failure was told, and no success came since.
    owes_recovery = models.BooleanField(default=False, db_default=False, editable=False)
    last_ping_at = models.DateTimeField(null=True, blank=True, editable=False)
    ping_count = models.BigIntegerField(default=0, editable=False)
    # Of the minute in which the last ping came: for the limit of pings.
    minute = models.DateTimeField(null=True, editable=False)
    minute_count = models.PositiveIntegerField(default=0, editable=False)

    storage: ClassVar[Mapping[str, int]] = BUSY
    objects: ClassVar[models.Manager[Watch]] = SenderQuerySet["Watch"].as_manager()

    class Meta:
        verbose_name = _("watch")
        verbose_name_plural = _("watches")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "-id"], condition=Q(deleted_at=None), name="watch_of_person"),
            # record_due: the deadlines that have passed
            models.Index(fields=["deadline"], condition=Q(deadline__isnull=False), name="watch_deadline"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "slug"], condition=Q(deleted_at=None) & ~Q(slug=""), name="watch_slug_once"
            ),
            *checks.named(
                "watch",
                known_state=Q(state__in=["new", "up", "down", "paused"]),
                expects_when_up=Q(deadline=None) | Q(state="up", deleted_at=None),
                has_rule=Q(kind="since", period__isnull=False)
                | (~Q(kind="since") & Q(rule__isnull=False, period=None)),
                readable_instants=checks.instants(
                    *("created_at", "updated_at", "state_since"),
                    nullable=("starts_at", "ends_at", "deadline", "last_ping_at", "deleted_at", "minute"),
                ),
                readable_counted_from=checks.instants(nullable=("counted_from",)),
                readable_rule=Q(rule=None) | checks.json("rule", 8),
                readable_excluded=checks.days("excluded"),
                readable_slots=checks.instants_of("slots"),
                readable_tags=checks.texts("tags"),
                readable_words=checks.texts("success_words")
                & checks.texts("failure_words")
                & checks.texts("ignore_words"),
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="watch_downtime",
                when=pgtrigger.After,
                operation=update_of("state", "deadline"),
                condition=pgtrigger.Condition(_ENDED),
                declare=[("since", "timestamp"), ("until", "timestamp")],
                func=_RECORD_DOWNTIME,
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"{settings.BASE_URL}/ping/{self.token}"

    @property
    def mail_address(self) -> str:
        """The address to which it takes pings by mail; empty if this installation takes none."""
        return f"{self.token}@{settings.PING_DOMAIN}" if settings.PING_DOMAIN else ""

    @property
    def slug_url(self) -> str:
        """The same by its slug; empty without one."""
        key = getattr(self.user, "ping_key", None) if self.slug else None
        return f"{settings.BASE_URL}/ping/{key.key}/{self.slug}" if key else ""

    @property
    def expected_at(self) -> datetime | None:
        """When the next ping is expected; `deadline` is later by the grace."""
        return None if self.deadline is None else self.deadline - timedelta(seconds=self.grace)

    def shown_state(self, now: datetime) -> str:
        """Its state; "late" within the grace."""
        is_late = self.expected_at is not None and self.expected_at < now
        return "late" if is_late else self.state


class Ping(Row):
    """One of the last 100 pings of a watch, and the queue of what is to be told of them.

    `output` is the beginning of what was sent, `size` all of it in bytes. One that starts a run is open until the run
    ends; then the ping that ends it has its duration. `rid` tells runs apart that overlap. `tells`: the event that is
    still to be recorded; with a `missed_at`, that deadline had passed before, and nobody was told yet. `slow_at`: when
    an open run becomes slow; null once that is told.
    """

    class Kind(models.TextChoices):
        SUCCESS = "success", _("success")
        START = "start", _("start")
        FAIL = "fail", _("failure")
        LOG = "log", _("log")

    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="pings", db_index=False)
    number = models.BigIntegerField()
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    at = models.DateTimeField()
    rid = models.CharField(max_length=36, blank=True)
    exit_code = models.PositiveSmallIntegerField(null=True)
    output = models.TextField(_("output"), blank=True)
    size = models.BigIntegerField(default=0)
    milliseconds = models.BigIntegerField(null=True)
    is_open = models.BooleanField(default=False)
    slow_at = models.DateTimeField(null=True)
    tells = models.CharField(max_length=9, blank=True)
    missed_at = models.DateTimeField(null=True)

    storage: ClassVar[Mapping[str, int]] = BUSY

    class Meta:
        verbose_name = _("ping")
        verbose_name_plural = _("pings")
        ordering = ["-number"]
        indexes = [
            models.Index(fields=["watch", "rid"], condition=Q(is_open=True), name="ping_open_run"),
            # record_due
            models.Index(fields=["id"], condition=~Q(tells=""), name="ping_to_tell"),
            models.Index(fields=["slow_at"], condition=Q(slow_at__isnull=False), name="ping_slow"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["watch", "number"], name="ping_once"),
            checks.readable("ping_readable_instants", "at", nullable=("slow_at", "missed_at")),
        ]

    def __str__(self) -> str:
        return self.kind

    @property
    def seconds(self) -> float | None:
        return None if self.milliseconds is None else self.milliseconds / 1000


class DailyDowntime(models.Model):
    """The seconds that a watch was down on a day of UTC, as far as that has ended. Its trigger adds them."""

    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="downtimes", db_index=False)
    day = models.DateField()
    seconds = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["watch", "day"], name="downtime_once")]
