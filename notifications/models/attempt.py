"""One try at a delivery."""

from __future__ import annotations

from django.db import models

from notifications.models.delivery import WORDS, Delivery
from work import models as work


class Attempt(work.Attempt):
    # No index of its own: `attempt_number_once` begins with it.
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="history", db_index=False)
    outcome = models.CharField(max_length=10, choices=WORDS.outcomes, blank=True)

    class Meta(work.Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()
