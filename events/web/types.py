"""Types of events: where each goes, and those that people and operators register."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from common.forms.not_possible import shown_in
from events.inputs import type_form
from events.inputs.type_form import TypeForm
from events.models import RegisteredType
from events.pure import types
from events.rules.topology import topology
from events.web import topics
from notifications.deliveries.backlog import COUNTED
from people.access.requests import PersonRequest, person_form, person_page, posted


@person_page
def type_list(request: PersonRequest) -> HttpResponse:
    result = topology(request.user)
    context = {
        "rows": [row for row in result if not row.only_came],
        "unregistered": [row for row in result if row.only_came],
        "builtin": types.TYPES.values(),
        "counted": COUNTED,
    }
    return render(request, "events/type_list.html", context)


@person_form
def new(request: PersonRequest) -> HttpResponse:
    """With `?name=<type>`, for that one."""
    form = TypeForm(posted(request), request.user)
    form.initial["name"] = request.GET.get("name", "")[:100]
    if form.is_valid():
        with shown_in(form):
            type = type_form.create(form)
            messages.success(request, _("“%(name)s” is registered.") % {"name": type.name})
            return redirect("events:type", type.id)
    return render(request, "events/type_form.html", {"form": form})


@person_page
def detail(request: PersonRequest, type_id: UUID) -> HttpResponse:
    type = RegisteredType.objects.own(request.user, id=type_id)
    may_change = not type.is_for_everybody or type_form.may_register_for_all(request.user)
    return render(request, "events/type.html", {"type": type, "may_change": may_change})


@person_form
def edit(request: PersonRequest, type_id: UUID) -> HttpResponse:
    type = _changeable(request, type_id)
    form = TypeForm(posted(request), request.user, type)
    changed = None
    if form.is_valid() and (changed := topics.save(request, form)) is None:
        return redirect("events:type", type.id)
    context = {"form": form, "type": type, "differences": changed}
    return render(request, "events/type_form.html", context, status=409 if changed else 200)


@person_form
def delete(request: PersonRequest, type_id: UUID) -> HttpResponse:
    type = _changeable(request, type_id)
    if request.method == "POST":
        type.delete()
        text = _("“%(name)s” is deleted. Its events are not checked any more.")
        messages.success(request, text % {"name": type.name})
        return redirect("events:types")
    return render(request, "events/type_delete.html", {"type": type})


def _changeable(request: PersonRequest, type_id: UUID) -> RegisteredType:
    """Their own, and for staff with the permission also everybody's. Raises Http404."""
    own = Q(user=request.user)
    if type_form.may_register_for_all(request.user):
        own |= Q(user=None)
    return get_object_or_404(RegisteredType.objects.filter(own), id=type_id)
