"""Runs for people, on pages and in the API: the history of one, and what people do: skip a step, end a run.

Each act is an intervention.
"""

from typing import NamedTuple

from django.db import transaction
from django.db.models import Prefetch, Q
from django.db.models.functions import Now

from events.models import FlowEffect, Run, Step
from events.reasons import EventCode
from events.runs import steps
from notifications.models import Delivery, Notification
from work import dead_letters
from work.dead_letters import Who
from work.kinds import kind_of
from work.models import DEAD_LETTERS, Intervention
from work.reasons import Reason

MOST = 100
"""Of each that are read."""


class History(NamedTuple):
    """Steps oldest first: of many, those that failed and the newest. Effects with their events, and messages with their
    deliveries, newest first."""

    steps: list[Step]
    effects: list[FlowEffect]
    messages: list[Notification]


def history(run: Run) -> History:
    steps = run.steps.annotate(failed=Q(state__in=DEAD_LETTERS)).order_by("-failed", "-id")[:MOST]
    messages = Notification.objects.filter(user=run.user_id, origin_id=run.id)
    deliveries = Prefetch("deliveries", Delivery.objects.select_related("channel"))
    return History(
        sorted(steps, key=lambda step: step.id),
        list(run.effects.select_related("event").defer("event__data").order_by("-id")[:MOST]),
        list(messages.prefetch_related(deliveries).order_by("-id")[:MOST]),
    )


@transaction.atomic
def end(run: Run, who: Who, reason: str) -> bool:
    """End a run that has not ended, stopped or not, and cancel its open steps. Raises a lock's error where it waits."""
    text = Reason(EventCode.FLOW_ENDED_BY, who=who.name, said=reason[:300])
    open_ones = Run.objects.filter(id=run.id, ended_at=None)
    if not open_ones.select_for_update(no_key=True).exists():
        return False
    open_ones.update(
        status=Run.Status.FINISHED,
        waits_for="",
        wait_until=None,
        reason_code=text.code,
        reason_params=text.params,
        changed_at=Now(),
        ended_at=Now(),
    )
    steps.cancel_open(run, Reason(EventCode.FLOW_RUN_ENDED))
    made = Intervention(what=Intervention.Action.DISCARDED, which=f"the run {run}", reason=reason)
    dead_letters.record(made, who, kind_of(Step), [run.id])
    return True
