"""One try at a delivery."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q

from common.triggers import changed, refuse
from notifications.models.delivery import Delivery
from notifications.reasons import sentence


class Attempt(models.Model):
    """One try at a delivery: opened when claimed, closed once, then immutable.

    `token` is the lease's; `worker` the process that claimed it (host and pid).
    """

    class Outcome(models.TextChoices):
        OPEN = "", "under way"
        DELIVERED = "delivered", "delivered"
        RETRYABLE = "retryable", "failed, to be tried again"
        REJECTED = "rejected", "rejected"
        AMBIGUOUS = "ambiguous", "outcome unknown"
        LOST = "lost", "worker lost"
        RELEASED = "released", "given back before anything was sent"

    # No index of its own: `attempt_number_once` begins with it.
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="history", db_index=False)
    replay = models.PositiveSmallIntegerField()
    number = models.PositiveSmallIntegerField()
    token = models.UUIDField(editable=False)
    worker = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    reason_code = models.CharField(max_length=32, db_default="", blank=True)
    reason_params = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["delivery", "replay", "number"], name="attempt_number_once"),
            models.CheckConstraint(
                condition=Q(finished_at=None, outcome="") | (Q(finished_at__isnull=False) & ~Q(outcome="")),
                name="attempt_closed_with_outcome",
            ),
            models.CheckConstraint(
                condition=Q(finished_at=None) | Q(finished_at__gte=F("started_at")),
                name="attempt_ends_after_start",
            ),
        ]
        triggers = [
            refuse(
                "attempt_closed_once",
                pgtrigger.Update,
                "An attempt is closed once, and nothing else of it changes.",
                condition="OLD.finished_at IS NOT NULL OR NEW.finished_at IS NULL OR "
                + changed("id", "delivery_id", "replay", "number", "token", "worker", "started_at"),
            ),
            # Deferred: an attempt is deleted before its delivery.
            pgtrigger.Trigger(
                name="attempt_kept",
                when=pgtrigger.After,
                operation=pgtrigger.Delete,
                timing=pgtrigger.Deferred,
                func="""
                IF EXISTS (SELECT FROM notifications_delivery WHERE id = OLD.delivery_id) THEN
                    RAISE EXCEPTION 'An attempt is kept for as long as its delivery.' USING ERRCODE = 'check_violation';
                END IF;
                RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.delivery_id} try {self.number}"

    @property
    def reason(self) -> str:
        return sentence(self.reason_code, self.reason_params)
