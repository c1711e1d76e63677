"""Add and edit a person's schedule in the admin, with the owner's form."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import owner_form, rights
from common.admin.base import as_uuid
from people.access.requests import posted
from people.models import User
from people.user_lock import lock_user
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule

_FORM = "admin/schedules/schedule_form.html"


class OwnerForm(forms.Form):
    """The owner of the new schedule."""

    email = forms.EmailField(
        label=gettext_lazy("Owner’s email address"),
        error_messages={"required": gettext_lazy("Enter the address of the owner.")},
    )

    def clean_email(self) -> User:
        owner = User.objects.filter(email__iexact=self.cleaned_data["email"]).first()
        if owner is None:
            raise forms.ValidationError(_("No account has this address. Search in People."))
        return owner


def add(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Choose the owner, then, with `?owner=<id>`, enter the schedule."""
    key = request.GET.get("owner", "")
    is_key = key.isascii() and key.isdigit() and len(key) < 10
    if (owner := User.objects.filter(pk=key).first() if is_key else None) is None:
        chosen = OwnerForm(request.GET if "email" in request.GET else None)
        if chosen.is_valid():
            return redirect(f"{request.path}?owner={chosen.cleaned_data['email'].pk}")
        return owner_form.page(
            model_admin, request, "admin/schedules/schedule_owner.html", {"form": chosen, "title": _("Add schedule")}
        )
    if not rights.may_act_on(request, owner, "pk"):
        raise PermissionDenied
    now = fire.read_clock().now
    with lock_user(owner):  # two requests at once cannot exceed the owner's limit
        form = ReminderForm(posted(request), user=owner, now=now)
        if form.is_valid():
            made_as = form.cleaned_data["made_as"]
            try:
                with transaction.atomic():
                    schedule = editing.create(form.as_schedule(), form.ordered(), now, cast(User, request.user))
            except IntegrityError:  # the same form, sent twice
                return _to(get_object_or_404(Schedule, id=made_as, user=owner))
            model_admin.log_addition(request, schedule, "Added.")
            messages.success(
                request, _("“%(title)s” is created for %(email)s.") % {"title": schedule.title, "email": owner.email}
            )
            return _to(schedule)
    return owner_form.page(model_admin, request, _FORM, {"form": form, "title": _("Add schedule"), "owner": owner})


def edit(model_admin: Any, request: HttpRequest, schedule_id: str) -> HttpResponse:
    schedule = get_object_or_404(Schedule.objects.select_related("user"), id=as_uuid(schedule_id))
    if not rights.may_act_on(request, schedule, model_admin.owner):
        raise PermissionDenied
    now = fire.read_clock().now
    form = ReminderForm(posted(request), user=schedule.user, now=now, schedule=schedule)
    context: dict[str, Any] = {"form": form, "title": _("Edit schedule"), "owner": schedule.user, "schedule": schedule}
    if schedule.deleted_at is None and form.is_valid():
        context["differences"] = form.reschedule(now, cast(User, request.user))
        if context["differences"] is None:
            model_admin.log_change(request, schedule, "Edited.")
            messages.success(request, _("“%(title)s” is saved.") % {"title": form.cleaned_data["title"]})
            return _to(schedule)
        schedule.refresh_from_db(fields=["deleted_at"])
    if schedule.deleted_at is not None:
        messages.error(request, _("This schedule was deleted. Its owner can restore it."))
        return _to(schedule)
    return owner_form.page(model_admin, request, _FORM, context, 409 if context.get("differences") else 200)


def _to(schedule: Schedule) -> HttpResponse:
    return redirect("admin:schedules_schedule_change", schedule.pk)
