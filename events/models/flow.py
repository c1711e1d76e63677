"""Runs of flows, their steps, and what flows made of events."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.triggers import refuse_unreadable
from common.models import DatedRow, Row
from events.models.event import Event
from people.models.owned import OwnedQuerySet
from work.models import DEAD_LETTERS, Attempt, Chained, Reasoned, Words, Work

WORDS = Words(working="working", done="done", key="step")
LONGEST_KEY = 200


class Run(Chained, Reasoned, DatedRow):
    """One entity for which a flow decides: of a person, by a key. At most one of each is not finished.

    `version` is that of the flow that wrote `state`. It waits for an event of the type `waits_for`, until `wait_until`;
    `waits` numbers its waits. `applied` counts the events that it has handled, and `begun` the steps that it
    started. The reason says why it was stopped. `correlation_id` is that of the event that began it.
    """

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        WAITING = "waiting", _("waiting")
        FINISHED = "finished", _("finished")
        STOPPED = "stopped", _("stopped")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs", db_index=False)
    flow = models.CharField(_("flow"), max_length=40)
    key = models.CharField(_("key"), max_length=LONGEST_KEY)
    version = models.PositiveIntegerField(_("version"), default=1)
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.OPEN)
    state = models.JSONField(default=dict)
    waits_for = models.CharField(max_length=100, blank=True, db_default="")
    wait_until = models.DateTimeField(null=True, blank=True)
    waits = models.PositiveIntegerField(default=0)
    applied = models.PositiveIntegerField(_("events"), default=0)
    begun = models.PositiveIntegerField(_("steps"), default=0)
    correlation_id = models.UUIDField(editable=False)
    changed_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Run]] = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "-id"], name="run_of_person"),
            models.Index(fields=["user", "flow", "-id"], name="run_of_flow"),
            # the trace of its chain
            models.Index(fields=["correlation_id"], name="run_of_chain"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["user", "flow", "key"], condition=Q(ended_at=None), name="run_once"),
            models.CheckConstraint(
                condition=Q(status="finished", ended_at__isnull=False)
                | Q(status__in=["open", "waiting", "stopped"], ended_at=None),
                name="run_ended_when_finished",
            ),
            checks.readable("run_readable_instants", "created_at", "changed_at", nullable=("wait_until", "ended_at")),
        ]
        triggers = [refuse_unreadable(json=["state", "reason_params"])]

    def __str__(self) -> str:
        return f"{self.flow} {self.key}"


class Step(Chained, Work):
    """A durable step of a run: code that may fetch. Its result is given to the run as an event, once.

    `handler` is the flow and the name of the step. `key` is unique in the run for each name. One without a `wake_at` is
    held until another of its name has ended. `failures_noted`: see `jobs.models.Job`.
    """

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps", db_index=False)
    handler = models.CharField(_("step"), max_length=90)
    key = models.CharField(_("key"), max_length=LONGEST_KEY)
    input = models.JSONField(default=dict)
    result = models.JSONField(null=True, blank=True)
    correlation_id = models.UUIDField(editable=False)
    hops = models.PositiveSmallIntegerField(default=0)
    failures_noted = models.PositiveSmallIntegerField(db_default=0, editable=False)

    class Meta(Work.Meta):
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        indexes = [
            *WORDS.indexes(),
            models.Index(fields=["user", "-id"], name="step_of_person"),
            # the trace of its chain
            models.Index(fields=["correlation_id"], name="step_of_chain"),
            # rescue: what failed without its worker
            models.Index(
                fields=["settled_at"],
                condition=Q(state__in=DEAD_LETTERS, failures_noted__lte=models.F("replays")),
                name="step_failure_to_note",
            ),
        ]
        constraints = [
            *WORDS.constraints(),
            models.UniqueConstraint(fields=["run", "handler", "key"], name="step_once"),
        ]
        triggers = WORDS.triggers(json=["input", "result"])

    def __str__(self) -> str:
        return self.handler

    @property
    def name(self) -> str:
        return self.handler.partition(".")[2]

    @property
    def is_held(self) -> bool:
        return self.state == "pending" and self.wake_at is None


class FailedStep(Step):
    """A step that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("failed step")


class StepAttempt(Attempt):
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()


class FlowEffect(Reasoned, Row):
    """A flow's effect of an event, or why it had none. Written in the transaction that settles the event."""

    class Outcome(models.TextChoices):
        APPLIED = "applied", _("applied")
        IGNORED = "ignored", _("ignored")
        STOPPED = "stopped", _("stopped")

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="flow_effects", db_index=False)
    flow = models.CharField(_("flow"), max_length=40)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="effects", db_index=False)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["id"]
        # the run's page, newest first
        indexes = [models.Index(fields=["run", "-id"], name="flow_effect_of_run")]
        constraints = [models.UniqueConstraint(fields=["event", "flow"], name="flow_effect_once")]
        triggers = [refuse_unreadable("at", json=["reason_params"])]

    def __str__(self) -> str:
        return self.outcome


class FlowSettings(models.Model):
    """A person's settings of a flow that has some. Without a row, or while it is off, it handles nothing of theirs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    flow = models.CharField(_("flow"), max_length=40)
    enabled = models.BooleanField(_("enabled"), default=True)
    settings = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "flow"], name="flow_settings_once")]
        # the operators who are told of problems
        indexes = [
            models.Index(fields=["user"], condition=Q(settings__installation=True), name="flow_settings_of_operators")
        ]
        triggers = [refuse_unreadable(json=["settings"])]


class OpenAlert(models.Model):
    """A problem of this installation that an operator was told of, and that lasts. `key` is the problem's; `alert` that
    of the incident, which several problems of one moment share."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=200)
    alert = models.CharField(max_length=200)
    title = models.CharField(max_length=300)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="open_alert_once")]
