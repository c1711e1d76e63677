"""The model of a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _, gettext_lazy
from django_celery_beat.models import PeriodicTask

from common.database import checks
from common.database.storage import BUSY
from common.database.triggers import update_of
from jobs import kinds
from jobs.models import Connection
from jobs.models.job import OnError
from notifications.messages import markup
from notifications.models import Channel, Sender, SenderQuerySet, change
from schedules import rules
from schedules.rules import early, from_done
from schedules.rules.civil import TICK
from schedules.rules.rule import described


def speaks(job_kind: str) -> bool:
    kind = kinds.find(job_kind)
    return kind is None or kind.speaks


class Timed(Sender):
    """A schedule or a watch. `rule` is the canonical JSON of its `kind` (see `rules`), read in `time_zone`."""

    TIMING: ClassVar[tuple[str, ...]] = ("kind", "rule", "time_zone", "starts_at", "ends_at", "excluded")

    # Words of its owner, as they were typed; see `tags`.
    tags = ArrayField(models.CharField(max_length=30), default=list, db_default=[], blank=True)
    escalate_after = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy("Minutes without an acknowledgement after which the next channel is tried."),
    )
    # Until its message is acknowledged, it is sent again. No channels: the same ones.
    nag_every = models.SmallIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy("Minutes after which a message that nobody answers is sent again."),
    )
    nag_times = models.SmallIntegerField(
        null=True, blank=True, help_text=gettext_lazy("How often it is sent again at most.")
    )
    nag_channel_ids = ArrayField(models.UUIDField(), default=list, db_default=[], blank=True)
    urgent = models.BooleanField(
        gettext_lazy("urgent"),
        default=False,
        db_default=False,
        help_text=gettext_lazy("Does not wait for the end of its person's quiet hours."),
    )
    kind = models.CharField(gettext_lazy("kind"), max_length=16)
    rule = models.JSONField()
    time_zone = models.CharField(max_length=64)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    # Dates on the wall clock of its zone.
    excluded = ArrayField(models.DateField(), default=list, db_default=[], blank=True)

    class Meta:
        abstract = True

    def timetable(self) -> rules.Timetable:
        """The rule within its window. Raises InvalidRule if the stored rule is unreadable."""
        return rules.stored(self.kind, self.rule, self.time_zone, self.starts_at, self.ends_at, self.excluded)


class Schedule(Timed):
    """A person's rule: when, what, to whom.

    `next_fire_at` is the next slot in UTC, null unless the schedule is active.
    With `after_done`, it waits for Done after each slot that fires, and `rule` begins anew then; see `rules.from_done`.
    """

    class State(models.TextChoices):
        ACTIVE = "active", gettext_lazy("Active")
        PAUSED = "paused", gettext_lazy("Paused")
        FINISHED = "finished", gettext_lazy("Finished")
        BROKEN = "broken", gettext_lazy("Broken")
        ARCHIVED = "archived", gettext_lazy("Archived")
        AWAITING = "awaiting", gettext_lazy("Awaiting Done")

    class Misfire(models.TextChoices):
        LATEST = "latest", gettext_lazy("Send the newest missed one")
        ALL = "all", gettext_lazy("Send every missed one, at most 100")
        SKIP = "skip", gettext_lazy("Send none of them")

    TIMING = (*Timed.TIMING, "max_count", "after_done")
    LATE = ("spread", "misfire", "grace")
    JOB = ("job_kind", "job_payload", "connection", "on_error", "errors_allowed")
    # How it is sent, beside its channels.
    SENT_BY = (
        *("urgent", "channel_order", "escalate_after", "nag_every", "nag_times", "nag_channel_ids"),
        *("early", "stale_after", "category", "data", "tags"),
    )

    # No separate index, nor on an occurrence's schedule: others begin with it, and each costs time at every firing.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules", db_index=False
    )
    title = models.CharField(gettext_lazy("title"), max_length=200)
    body = models.TextField(gettext_lazy("body"), blank=True)
    # For the owner's programs: webhooks repeat both.
    category = models.SlugField(max_length=50, blank=True, default="", db_default="", db_index=False)
    data = models.JSONField(null=True, blank=True)
    channels = models.ManyToManyField(Channel, related_name="schedules", blank=True)
    # Minutes before each slot at which it sends a message, too; `next_early_at` is the next of these times.
    early = ArrayField(models.IntegerField(), default=list, db_default=[], blank=True)
    next_early_at = models.DateTimeField(null=True, blank=True, editable=False)

    # What it checks before it speaks; empty: it says its text. `job_payload` is the question, of that kind.
    job_kind = models.CharField(max_length=40, blank=True, default="", db_default="")
    job_payload = models.JSONField(null=True, blank=True)
    connection = models.ForeignKey(
        Connection, on_delete=models.SET_NULL, null=True, blank=True, related_name="schedules"
    )
    on_error = models.CharField(max_length=8, choices=OnError.choices, default=OnError.DAILY, db_default="daily")
    errors_allowed = models.PositiveSmallIntegerField(
        default=3, db_default=3, help_text=gettext_lazy("Failures in a row after which its owner is told.")
    )

    # Of staff: for whom it is instead of its owner; empty: for its owner. `local_time`: its times are those of each
    # reader's clock, and its zone is the first one on Earth.
    audience = models.CharField(gettext_lazy("audience"), max_length=20, blank=True, default="", db_default="")
    audience_key = models.CharField(max_length=64, blank=True, default="", db_default="")
    local_time = models.BooleanField(default=False, db_default=False)

    max_count = models.PositiveIntegerField(null=True, blank=True)
    after_done = models.BooleanField(default=False, db_default=False)
    spread = models.PositiveIntegerField(
        gettext_lazy("spread"), default=0, help_text=gettext_lazy("Jitter window in seconds.")
    )
    misfire = models.CharField(gettext_lazy("misfire"), max_length=8, choices=Misfire.choices, default=Misfire.LATEST)
    grace = models.PositiveIntegerField(
        gettext_lazy("grace"), default=60, help_text=gettext_lazy("Seconds after which a slot counts as missed.")
    )
    stale_after = models.PositiveIntegerField(
        gettext_lazy("stale after"),
        null=True,
        blank=True,
        help_text=gettext_lazy("Seconds after the slot at which an unsent delivery expires."),
    )

    state = models.CharField(gettext_lazy("state"), max_length=8, choices=State.choices, default=State.ACTIVE)
    error = models.CharField(gettext_lazy("error"), max_length=500, blank=True)
    next_fire_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True, help_text=gettext_lazy("Nothing is sent before this."))
    last_fired_at = models.DateTimeField(null=True, blank=True)
    fired_count = models.PositiveIntegerField(default=0)
    # Runs by hand, which `max_count` does not count.
    manual_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Named: the default, "schedule", would hide the property of that name on PeriodicTask.
    periodic_task = models.OneToOneField(
        PeriodicTask, null=True, blank=True, on_delete=models.SET_NULL, related_name="mirrored_schedule", editable=False
    )
    # The reminder whose job keeps it: one that reads a calendar.
    made_by = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, db_index=False, editable=False)

    storage: ClassVar[Mapping[str, int]] = BUSY
    objects: ClassVar[models.Manager[Schedule]] = SenderQuerySet["Schedule"].as_manager()

    class Meta:
        verbose_name = gettext_lazy("schedule")
        verbose_name_plural = gettext_lazy("schedules")
        ordering = ["-id"]
        indexes = [
            # fire_due: what is due, oldest first
            models.Index(fields=["next_fire_at"], condition=Q(next_fire_at__isnull=False), name="schedule_due"),
            # early messages that are due, oldest first
            models.Index(fields=["next_early_at"], condition=Q(next_early_at__isnull=False), name="schedule_early"),
            # a person's list, in the order in which it is shown
            models.Index(fields=["user", "next_fire_at", "-id"], name="schedule_of_person_next"),
            # the tags of a person; a schedule without tags pays nothing for it
            models.Index(
                fields=["user"],
                include=["tags"],
                condition=Q(deleted_at=None) & ~Q(tags=[]),
                name="schedule_tags_of_person",
            ),
            models.Index(fields=["made_by"], condition=Q(made_by__isnull=False), name="schedule_made_by"),
            # operators' alerts: the newest of those that cannot be read
            models.Index(fields=["-id"], condition=Q(state="broken", deleted_at=None), name="schedule_broken"),
        ]
        # One row that Python cannot read would break whole pages, and the batch that it is fired with.
        constraints = checks.named(
            "schedule",
            known_state=Q(state__in=["active", "paused", "finished", "broken", "archived", "awaiting"]),
            next_when_active=Q(state="active", deleted_at=None, next_fire_at__isnull=False)
            | (Q(next_fire_at=None) & (~Q(state="active") | Q(deleted_at__isnull=False))),
            known_misfire=Q(misfire__in=["latest", "all", "skip"]),
            readable_instants=checks.instants(
                *("created_at", "updated_at"),
                nullable=("starts_at", "ends_at", "next_fire_at", "snoozed_until", "last_fired_at", "deleted_at"),
            ),
            readable_rule=checks.json("rule", 8),
            readable_data=checks.json("data", 40),
            readable_job_payload=checks.json("job_payload", 40),
            readable_excluded=checks.days("excluded"),
            readable_tags=checks.texts("tags"),
            readable_early=checks.minutes("early", early.MOST, early.LONGEST)
            & checks.instants(nullable=("next_early_at",)),
            ends_after_start=Q(starts_at=None) | Q(ends_at=None) | Q(ends_at__gte=models.F("starts_at")),
        )
        triggers = [
            change.recorder(
                "schedule_records_end",
                update_of("state"),
                condition="OLD.state <> NEW.state AND NEW.state IN ('finished', 'broken')",
                user="NEW.user_id",
                type="'schedule.' || NEW.state",
                data="jsonb_build_object('schedule_id', NEW.id)",
            )
        ]

    def __str__(self) -> str:
        return self.title

    def set_next_early(self, now: datetime) -> None:
        """Set `next_early_at` by the next slot: after `now`, or what is due already and not sent yet."""
        since = now if self.next_early_at is None else min(now, self.next_early_at - TICK)
        if self.snoozed_until is not None:
            since = max(since, self.snoozed_until - TICK)
        self.next_early_at = early.next_at(self.next_fire_at, self.early, self.time_zone, since)

    @property
    def checks(self) -> str:
        """The check before it speaks, in one line; "" for nothing."""
        return kinds.summary(self.job_kind, self.job_payload) if self.job_kind else ""

    @property
    def name(self) -> str:
        """Its title, for lists; where that waits for what a check finds ("It is {value}"), what it checks instead."""
        kind = kinds.find(self.job_kind)
        if kind is None or not any(f"{{{name}}}" in self.title for name in kind.placeholders):
            return self.title
        return f"{kind.label}: {self.checks}"

    @property
    def marked_body(self) -> SafeString:
        """Its text for a page, with its marks as HTML."""
        return markup.as_page(self.body)

    @property
    def speaks(self) -> bool:
        return speaks(self.job_kind)

    @property
    def problem(self) -> str:
        """Why a broken one is broken: in the reader's language, or as it was recorded if its rule can be read now."""
        try:
            self.timetable()
        except rules.InvalidRule as error:
            return str(error)
        return self.error

    @property
    def when(self) -> str:
        """The rule in plain words, also if it is unreadable, so that no page fails."""
        try:
            rule = self.timetable().rule
        except rules.InvalidRule as error:
            return _("Cannot be read: %(error)s") % {"error": error}
        text = from_done.describe(rule) if self.after_done else described(rule, self.local_time, get_language())
        return early.describe(text, self.early)

    def brief(self, zone: str) -> str:
        """`when` beside the next time, for who lives in `zone`: without that zone, a start or the only date."""
        if self.next_fire_at is None or self.local_time or self.time_zone != zone:
            return self.when
        try:
            rule = self.timetable().rule
            text = "" if self.kind == "once" else from_done.brief(rule) if self.after_done else rule.brief()
            return early.describe(text, self.early)
        except rules.InvalidRule:
            return self.when
