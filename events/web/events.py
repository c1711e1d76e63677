"""A person's events: what came, what followed from each, and handling one again."""

import json
from collections.abc import Iterable
from uuid import UUID

from django.contrib import admin, messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from common.database import paging
from events.flows.incident import ACKNOWLEDGED
from events.intake import ledger, usage
from events.intake.trace import Row, Trace, trace
from events.models import Event, Rule
from events.models.event import EventQuerySet
from events.pure import types
from events.pure.matching import fits_pattern
from events.rules.preview import types_seen
from events.rules.topology import flows_of
from people.access.requests import PersonRequest, person_action, person_page

_MOST_DRAWN = 100
"""Rows of a trace that its picture has: a bar for each, over the time of the whole chain."""
_LEAST = 0.4  # percent of the width, so that what took no time is seen
_Place = tuple[float, float]
"""The left end and the width of a bar, in percent of the whole time."""
_OF_OPERATORS = ["events.view_event", "notifications.view_delivery"]


@person_page
def event_list(request: PersonRequest) -> HttpResponse:
    chosen = request.GET.get("type", "").strip().replace("\0", "")[:100]
    mine = Event.objects.for_user(request.user)
    # What flows tell themselves stands on the pages of their runs.
    only_dead = request.GET.get("state") == "dead"
    shown = mine.dead() if only_dead else mine
    shown = shown.filter(type=chosen) if chosen else shown if only_dead else shown.exclude(type__in=types.TO_RUNS)
    page = paging.page(shown.with_effects(), request.GET)
    context = {
        "page": page,
        "chosen": chosen,
        "only_dead": only_dead,
        "has_dead": only_dead or mine.dead().exists(),
        "seen": types_seen(request.user),
        **_heard(request, page.rows),
        "used": usage.used(request.user.pk),
    }
    return render(request, "events/event_list.html", context)


@person_page
def event_detail(request: PersonRequest, event_id: UUID) -> HttpResponse:
    event = _own(Event.objects.for_user(request.user).with_effects().prefetch_related("history"), event_id)
    written = json.dumps(event.data, ensure_ascii=False, indent=2)
    context = {"event": event, "data": written, "builtin": types.TYPES.get(event.type), **_heard(request, [event])}
    return render(request, "events/event_detail.html", context)


@person_action
def event_replay(request: PersonRequest, event_id: UUID) -> HttpResponse:
    event = _own(Event.objects.for_user(request.user), event_id)
    try:
        key = ledger.replay(event, request.user)
    except usage.QuotaReached as reached:
        messages.error(request, str(reached))
        return redirect("events:event", event.pk)
    if key == event.key:
        messages.success(request, _("It is handled again."))
        return redirect("events:event", event.pk)
    messages.success(request, _("It is handled again, as this new event. Your rules ring for it as for any other."))
    return redirect("events:event", key)


@person_action
def event_discard(request: PersonRequest, event_id: UUID) -> HttpResponse:
    event = _own(Event.objects.for_user(request.user), event_id)
    note = " ".join(request.POST.get("note", "").replace("\0", "").split())[:300]
    if ledger.discard(event, request.user, note):
        messages.success(request, _("Discarded. It is not handled."))
    else:
        messages.info(request, _("It does not wait for you any more. Nothing changed."))
    return redirect("events:event", event.pk)


def _own(mine: EventQuerySet, event_id: UUID) -> Event:
    """Raises Http404."""
    if (event := mine.named(event_id)) is None:
        raise Http404
    return event


@person_page
def trace_page(request: PersonRequest, correlation_id: str) -> HttpResponse:
    """Of its owner; operators, where the admin admits them to events and deliveries, see the rows of everybody."""
    sees_all = admin.site.has_permission(request) and request.user.has_perms(_OF_OPERATORS)
    chain = trace(correlation_id, None if sees_all else request.user)
    if not chain.rows:
        raise Http404
    context = {
        "trace": chain,
        "rows": [(row, _page_of(row, request.user.pk)) for row in chain.rows],
        "bars": _bars(chain),
        "ends": max(row.ended for row in chain.rows),
    }
    return render(request, "events/trace.html", context)


_ADMIN = {
    "event": "admin:events_event_change",
    "batch": "admin:jobs_batch_change",
    "job": "admin:jobs_job_change",
    "run": "admin:events_run_change",
    "step": "admin:events_step_change",
    "delivery": "admin:notifications_delivery_change",
}
_OWN = {"event": "events:event", "run": "events:run", "batch": "jobs:batch"}


def _page_of(row: Row, reader_id: int) -> str:
    """The page of a row; empty where there is none."""
    if row.owner_id != reader_id:
        return reverse(_ADMIN[row.kind], args=[row.row_id])
    if row.kind in _OWN:
        return reverse(_OWN[row.kind], args=[row.row_id])
    return reverse("notifications:notification", args=[row.notification_id]) if row.notification_id else ""


def _heard(request: PersonRequest, events: Iterable[Event]) -> dict[str, set[str]]:
    """Those of the events' types for which the person has a rule now, and those that something else handles."""
    patterns = list(Rule.objects.for_user(request.user).filter(enabled=True).values_list("type_pattern", flat=True))
    names = {event.type for event in events}
    return {
        "heard": {name for name in names if any(fits_pattern(pattern, name) for pattern in patterns)},
        "handled": {*flows_of(request.user), *types.INSIDE, *types.TO_RUNS, ACKNOWLEDGED},
    }


def _bars(of: Trace) -> list[tuple[Row, _Place, list[_Place]]]:
    """Rows, each with its place and those of its tries."""
    rows = of.rows[:_MOST_DRAWN]
    whole = max([row.ended for row in rows], default=0.0) or 1.0

    def place(begins: float, ends: float) -> _Place:
        left = min(100 * begins / whole, 100 - _LEAST)
        return round(left, 2), round(max(_LEAST, 100 * (ends - begins) / whole), 2)

    return [
        (
            row,
            place(row.seconds, row.ended),
            [place(one.seconds, one.seconds if one.ended is None else one.ended) for one in row.tries],
        )
        for row in rows
    ]
