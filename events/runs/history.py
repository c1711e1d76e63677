"""The history of a run, for its page and the API: its steps, effects of events, and sent messages."""

from dataclasses import dataclass

from django.db.models import Prefetch, Q

from events.models import FlowEffect, Run, Step
from notifications.models import Delivery, Notification
from work.models import DEAD_LETTERS

MOST = 100
"""Of each that are read."""


@dataclass(frozen=True, slots=True)
class History:
    """Steps oldest first: of many, those that failed and the newest. Effects with their events, and messages with their
    deliveries, newest first."""

    steps: list[Step]
    effects: list[FlowEffect]
    messages: list[Notification]


def read(run: Run) -> History:
    failed = Q(state__in=DEAD_LETTERS)
    steps = run.steps.annotate(failed=failed).order_by("-failed", "-id")[:MOST]
    messages = Notification.objects.filter(user=run.user_id, origin_id=run.id)
    deliveries = Prefetch("deliveries", Delivery.objects.select_related("channel"))
    return History(
        sorted(steps, key=lambda step: step.id),
        list(run.effects.select_related("event").defer("event__data").order_by("-id")[:MOST]),
        list(messages.prefetch_related(deliveries).order_by("-id")[:MOST]),
    )
