"""The page of all kinds of job: what a reminder can check."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs import connections, kinds
from jobs.checks.recording import queue_of
from people.access.requests import PersonRequest


@login_required
@require_safe
def kind_list(request: PersonRequest) -> HttpResponse:
    listed = [(kind, queue_of(kind.name), connections.find(kind.connection)) for kind in kinds.offered()]
    return render(request, "jobs/kinds.html", {"kinds": listed})
