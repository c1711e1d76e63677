"""Runs of flows, and incidents among them: a list, a page with state, steps and timeline, what their person may do."""

import json
import time
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.database import paging
from events import flows
from events.flows.incident import RESOLVED, Incident
from events.models import Run, Step
from events.runs import changes, incidents, operators
from people.access.requests import PersonRequest, person_action, person_form, person_page, posted
from work.dead_letters import MARK_FIXED, REPLAY, Who, act_on_own
from work.models import DEAD_LETTERS


@person_page
def run_list(request: PersonRequest) -> HttpResponse:
    return _list(request, Run.objects.for_user(request.user).exclude(flow=Incident.name), "events/run_list.html")


@person_page
def incident_list(request: PersonRequest) -> HttpResponse:
    mine = Run.objects.for_user(request.user).filter(flow=Incident.name)
    shows_all = "all" in request.GET
    if not shows_all:
        mine = mine.filter(ended_at=None).exclude(state__phase="resolved")
    is_on = incidents.is_on(request.user)
    is_untold = request.user.is_staff and not operators.chosen()
    return _list(request, mine, "events/incident_list.html", is_on=is_on, is_untold=is_untold, shows_all=shows_all)


def _list(request: PersonRequest, runs: Any, template: str, **context: Any) -> HttpResponse:
    page = paging.page(runs, request.GET)
    rows = [(run, incidents.title(run), flows.label(run.flow)) for run in page.rows]
    return render(request, template, {"page": page, "rows": rows, **context})


@person_page
def run_page(request: PersonRequest, run_id: UUID) -> HttpResponse:
    run = Run.objects.own(request.user, id=run_id)
    of_run = changes.history(run)
    timeline: list[tuple[Any, str, Any]] = [
        *((one.at, "event", one) for one in of_run.effects),
        *((one.created_at, "message", one) for one in of_run.messages),
    ]
    context = {
        "run": run,
        "title": incidents.title(run),
        "flow": flows.label(run.flow),
        "state": json.dumps(run.state, ensure_ascii=False, indent=2),
        "steps": [(step, step.state in DEAD_LETTERS) for step in of_run.steps],
        # Of one second, events stand before the messages that they cause.
        "timeline": sorted(timeline, key=lambda row: (row[0].replace(microsecond=0), row[1])),
    }
    return render(request, "events/incident.html" if run.flow == Incident.name else "events/run.html", context)


@person_action
def run_end(request: PersonRequest, run_id: UUID) -> HttpResponse:
    run = Run.objects.own(request.user, id=run_id)
    changes.end(run, Who.of(request.user), "")
    messages.success(request, _("It is ended."))
    return redirect("events:run", run.id)


@person_action
def end_failure(request: PersonRequest, step_id: UUID, skips: bool) -> HttpResponse:
    """Try a failed step again, or skip it."""
    step = get_object_or_404(Step, id=step_id, user=request.user)
    if not act_on_own(step, MARK_FIXED if skips else REPLAY, request.user, "Skipped.").changed:
        messages.error(request, _("This step has not failed. Nothing changed."))
    return redirect("events:run", step.run_id)


@person_action
def act(request: PersonRequest, run_id: UUID, type: str) -> HttpResponse:
    """Acknowledge or resolve an incident."""
    run = Run.objects.own(request.user, id=run_id)
    if incidents.act(run, type):
        if _is_applied(run):
            text = _("It is over.") if type == RESOLVED else _("It is acknowledged. It rings again if it lasts.")
            messages.success(request, text)
        else:
            messages.info(request, _("It is recorded, and takes effect in a moment. Reload this page to see it."))
    return redirect("events:run", run.id)


@person_form
def incident_settings(request: PersonRequest) -> HttpResponse:
    form = incidents.IncidentForm(posted(request), request.user)
    if form.is_valid():
        form.save()
        messages.success(request, _("The settings of incidents are saved."))
        return redirect("events:incidents")
    return render(request, "events/incident_settings.html", {"form": form, "is_on": incidents.is_on(request.user)})


@person_action
def incident_test(request: PersonRequest) -> HttpResponse:
    if not incidents.is_on(request.user):
        messages.error(request, _("Incidents are off. Switch them on first."))
        return redirect("events:incident-settings")
    operators.send_test(request.user.pk)
    messages.success(request, _("A test alert is on its way. It is over in a minute."))
    return redirect("events:incidents")


def _is_applied(run: Run) -> bool:
    """Whether a worker has applied another event to it; waits a second, so that the page shows what was done."""
    until = time.monotonic() + 1.0
    while not (is_applied := not Run.objects.filter(id=run.id, applied=run.applied).exists()):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return is_applied
