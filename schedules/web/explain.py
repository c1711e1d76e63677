"""Why each slot of a reminder went the way it did."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from notifications.models import Delivery, Notification
from people.models import User
from people.requests import PersonRequest
from schedules.explain import history
from schedules.explain.gaps import timetable_of
from schedules.explain.history import ExplainedSlot
from schedules.firing import fire
from schedules.models import Schedule, ScheduleEvent
from schedules.rules import civil

_DONE = 20


@login_required
@require_safe
def of_reminder(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """The newest slots up to `?before=<instant>`, a page of them."""
    schedule = get_object_or_404(Schedule.objects.for_user(request.user), id=schedule_id)
    now = fire.read_clock().now
    before = _instant(request.GET.get("before", ""))
    stories = history.past(schedule, civil.FIRST_INSTANT, before or civil.LAST_INSTANT, now, history.PAGE + 1)
    shown = stories[: history.PAGE]
    context = {
        "schedule": schedule,
        "before": before,
        "coming": [] if before else history.coming(schedule, now),
        "past": with_notifications(request.user, shown),
        "done": [] if before else _done(schedule),
        "older": shown[-1].slot if len(stories) > len(shown) else None,
    }
    return render(request, "schedules/explain.html", context)


def with_notifications(user: User, stories: list[ExplainedSlot]) -> list[dict[str, object]]:
    """Each story beside the notification that it led to, with its deliveries; None where it led to none."""
    batches = [story.batch_id for story in stories if story.batch_id is not None]
    deliveries = Delivery.objects.select_related("channel").order_by("channel_id")
    caused = Notification.objects.for_user(user).filter(batch_id__in=batches)
    by_batch = {said.batch_id: said for said in caused.prefetch_related(Prefetch("deliveries", deliveries))}
    return [{"story": story, "notification": story.batch_id and by_batch.get(story.batch_id)} for story in stories]


def _done(schedule: Schedule) -> list[dict[str, object]]:
    """What was last done to it, newest first: the event, the rule that an edit replaced, and the instants it names."""
    return [
        {
            "event": event,
            "was": _was(event),
            "instants": [
                datetime.fromisoformat(event.detail[name])
                for name in ("slot", "from", "to", "until")
                if event.detail.get(name)
            ],
        }
        for event in schedule.events.select_related("by").order_by("-id")[:_DONE]
    ]


def _was(event: ScheduleEvent) -> str:
    if "was" not in event.detail:
        return ""
    timetable = timetable_of(event.detail["was"])
    return "a rule that cannot be read any more" if timetable is None else timetable.rule.describe()


def _instant(text: str) -> datetime | None:
    """An aware instant of a link; None for anything else."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    if found is None or found.tzinfo is None or not civil.FIRST <= found.replace(tzinfo=None) < civil.LAST:
        return None
    return found
