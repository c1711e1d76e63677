"""The slots of a reminder, with reasons."""

from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from common.database import replica
from notifications.models import Delivery, Notification
from people.access.requests import PersonRequest, person_page
from people.models import User
from schedules.explain import history
from schedules.explain.gaps import timetable_of
from schedules.explain.history import ExplainedSlot
from schedules.explain.reach import Reach
from schedules.firing import fire
from schedules.models import Schedule, ScheduleEvent
from schedules.rules import civil, from_done
from schedules.web import typed

_SHOWN = 20
# The states of slots whose notification ended so.
_UNSENT = {"open": "pending", "failed": "dead", "dropped": "cancelled"}


@person_page
def of_reminder(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    """A page of slots, newest first, up to `?before=<instant>`."""
    schedule = Schedule.objects.select_related("user").prefetch_related("channels").own(request.user, id=schedule_id)
    now = fire.read_clock().now
    before = typed.instant(request.GET.get("before", ""))

    def past() -> tuple[list[ExplainedSlot], list[dict[str, object]]]:
        stories = history.past(schedule, civil.FIRST_INSTANT, before or civil.LAST_INSTANT, now, history.PAGE + 1)
        return stories, with_notifications(request.user, stories[: history.PAGE])

    stories, paired = replica.read(past)
    shown = stories[: history.PAGE]
    coming = [] if before else history.coming(schedule, now)
    context = {
        "schedule": schedule,
        "reach": Reach.of(schedule),
        "latest": paired[0] if paired else None,
        "before": before,
        "coming": coming,
        "rings": next((one.slot for one in coming if one.outcome == "coming"), None),
        "past": paired,
        "changes": [] if before else _changes(schedule),
        "older": shown[-1].slot if len(stories) > len(shown) else None,
    }
    return render(request, "schedules/explain.html", context)


def with_notifications(user: User, stories: list[ExplainedSlot]) -> list[dict[str, object]]:
    """Pair each slot with its notification and deliveries, or None, and the state of both for people."""
    batches = [story.batch_id for story in stories if story.batch_id is not None]
    deliveries = Delivery.objects.select_related("channel").order_by("channel_id")
    caused = Notification.objects.for_user(user).filter(batch_id__in=batches)
    by_batch = {one.batch_id: one for one in caused.prefetch_related(Prefetch("deliveries", deliveries))}
    paired = [(story, by_batch.get(story.batch_id) if story.batch_id else None) for story in stories]
    return [{"story": story, "notification": cause, "state": _state(story, cause)} for story, cause in paired]


def _state(story: ExplainedSlot, notification: Notification | None) -> str:
    """A slot that fired counts as sent once a message has gone out."""
    if notification is None:
        return story.outcome
    if notification.outcome == Notification.Outcome.FULL and not notification.arrived():
        return "saved"
    return _UNSENT.get(notification.outcome, story.outcome)


def _changes(schedule: Schedule) -> list[dict[str, object]]:
    """The newest changes: the event, the rule that an edit replaced, and the instants in it."""
    return [
        {
            "event": event,
            "what": event.get_what_display(),
            "was": _old_rule(event),
            "instants": [
                datetime.fromisoformat(event.detail[name])
                for name in ("slot", "from", "to", "until")
                if event.detail.get(name)
            ],
        }
        for event in schedule.events.select_related("by").order_by("-id")[:_SHOWN]
    ]


def _old_rule(event: ScheduleEvent) -> str:
    if "was" not in event.detail:
        return ""
    timetable = timetable_of(event.detail["was"])
    if timetable is None:
        return _("an invalid rule")
    return from_done.describe(timetable.rule) if event.detail["was"].get("after_done") else timetable.rule.describe()
