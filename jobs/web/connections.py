"""Connections: list, add, change, check, remove; and the list of all kinds of job."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from common.database.damaged import readable
from common.forms.edit_form import VersionConflict
from common.forms.not_possible import shown_in
from jobs import connections, kinds
from jobs.changes import connections as changes
from jobs.changes.connections import ConnectionForm
from jobs.checks.recording import queue_of
from jobs.models import Connection
from people.access.requests import PersonRequest, made_once, person_action, person_form, person_page, posted

_USES = 20


@person_page
def connection_list(request: PersonRequest) -> HttpResponse:
    uses = Count("schedules", filter=Q(schedules__deleted_at=None))
    own = Connection.objects.for_user(request.user).annotate(uses=uses)
    return render(request, "jobs/connection_list.html", {"connections": readable(own)[0]})


@person_page
def choose(request: PersonRequest) -> HttpResponse:
    return render(request, "jobs/connection_choose.html", {"kinds": connections.all()})


def _to_list(request: PersonRequest) -> HttpResponse:
    connection = Connection.objects.own(request.user, id=request.made_as)
    messages.success(request, _("“%(label)s” is connected.") % {"label": connection.label})
    return redirect("jobs:connections")


@person_form
@made_once(_to_list)
def add(request: PersonRequest, source: str) -> HttpResponse:
    if (kind := connections.find(source)) is None:
        raise Http404
    form = ConnectionForm(request.user, kind, posted(request))
    if request.method == "POST" and form.is_valid():
        with shown_in(form.details):
            form.save(request.made_as)
            return _to_list(request)
    return render(request, "jobs/connection_add.html", {"kind": kind, "form": form})


@person_form
def connection(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    current = Connection.objects.own(request.user, id=connection_id)
    kind = connections.find(current.kind)
    context: dict[str, Any] = {"connection": current, "kind": kind} | _uses(current)
    if kind is None:
        return render(request, "jobs/connection.html", context)
    form = ConnectionForm(request.user, kind, posted(request), current)
    if request.method == "POST":
        if request.POST.get("version") != str(current.version):
            return _conflict(request, current)
        if form.is_valid():
            try:
                changed = form.save()
            except VersionConflict:
                return _conflict(request, current)
            messages.success(request, _("“%(label)s” is saved.") % {"label": changed.label})
            return redirect("jobs:connections")
    return render(request, "jobs/connection.html", context | {"form": form})


@person_action
def check(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    connection = Connection.objects.own(request.user, id=connection_id)
    with shown_in(request):
        failure = changes.check(connection)
        if failure is None:
            messages.success(request, _("“%(label)s” works.") % {"label": connection.label})
        else:
            messages.error(
                request, _("“%(label)s” does not work. %(failure)s") % {"label": connection.label, "failure": failure}
            )
    return redirect("jobs:connection", connection.id)


@person_form
def remove(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    connection = Connection.objects.own(request.user, id=connection_id)
    if request.method == "POST":
        changes.remove(connection)
        messages.success(request, _("“%(label)s” is removed.") % {"label": connection.label})
        return redirect("jobs:connections")
    return render(request, "jobs/connection_remove.html", {"connection": connection} | _uses(connection))


def _uses(connection: Connection) -> dict[str, Any]:
    """The reminders that use it, newest first."""
    uses = connection.schedules.filter(deleted_at=None)  # of the app above
    return {"uses": uses.order_by("-id")[:_USES], "more": max(0, uses.count() - _USES)}


def _conflict(request: PersonRequest, connection: Connection) -> HttpResponse:
    messages.error(
        request,
        _("Somebody changed this connection in the meantime, so nothing was saved. These are the current values."),
    )
    return redirect("jobs:connection", connection.id)


@person_page
def kind_list(request: PersonRequest) -> HttpResponse:
    listed = [(kind, queue_of(kind.name), connections.find(kind.connection)) for kind in kinds.offered()]
    return render(request, "jobs/kinds.html", {"kinds": listed})
