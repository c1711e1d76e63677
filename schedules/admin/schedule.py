"""Schedules in the admin: read in words, added, edited, paused and resumed."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy
from unfold.decorators import action as button

from common.admin import columns, pages, rights
from common.admin.base import ReadOnlyAdmin, ReadOnlyInline, as_uuid
from common.admin.filters import newest_filter
from common.texts.state_words import labelled
from notifications.admin import cells
from people.access.requests import posted
from people.admin.user import OwnedAdmin, person_ids, to_person
from people.models import User
from people.user_lock import lock_user
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule, ScheduleEvent

_FORM = "admin/schedules/schedule_form.html"
_ACTIVE, _AWAITING = Schedule.State.ACTIVE, Schedule.State.AWAITING

ScheduleState = newest_filter("state", lambda: Schedule.State.choices, (Schedule.State.ACTIVE,))


class EventInline(ReadOnlyInline):
    model = ScheduleEvent
    verbose_name_plural = "changes"
    fields = ("change", "when", "who", "version")
    ordering = ("-id",)
    per_page = 20
    related = ("by",)

    when = columns.instant_column(gettext_lazy("when"), "at")
    change = columns.column(gettext_lazy("what"), "", ScheduleEvent.get_what_display)
    who = columns.column(gettext_lazy("by"), "by", to_person)


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


@admin.register(Schedule)
class ScheduleAdmin(OwnedAdmin):
    list_display = ("title_short", "person", "words", "state_label", "next_slot", "last_fired", "times_sent", "rows")
    list_filter = (ScheduleState,)
    list_disable_select_all = True  # each is paused in its own transaction
    link_lookups = ("user__id__exact", "channels__id__exact")
    fieldsets = (
        columns.section(None, "title", "body", ("person", "state_label"), "tag_list", "error", "rows"),
        columns.section(
            gettext_lazy("When"),
            "words",
            ("kind", "time_zone"),
            "rule",
            ("starts", "ends"),
            "excluded",
            ("max_count", "urgent"),
        ),
        columns.section(gettext_lazy("Slots"), ("next_slot", "last_fired"), ("times_sent", "snoozed")),
        columns.section(gettext_lazy("Late, missed, spread"), ("misfire", "grace"), ("spread", "stale_after")),
        columns.section(gettext_lazy("Sends to"), "to_channels", "how_many"),
        columns.section(gettext_lazy("Its row"), ("id", "version"), ("created", "changed"), "deleted"),
    )
    search_fields = ("title",)
    search_help_text = gettext_lazy("Words of a title, the beginning of the owner's email address, or a schedule's id.")
    inlines = (EventInline,)
    empty_text = gettext_lazy("No schedules yet. People create them as reminders, operators here.")
    actions = ("pause", "resume")
    actions_detail = ("edit",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super(ReadOnlyAdmin, self).has_add_permission(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Choose the owner, then, with `?owner=<id>`, enter the schedule."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        key = request.GET.get("owner", "")
        is_key = re.fullmatch("[0-9]{1,9}", key)
        if (owner := User.objects.filter(pk=key).first() if is_key else None) is None:
            chosen = OwnerForm(request.GET if "email" in request.GET else None)
            if chosen.is_valid():
                return redirect(f"{request.path}?owner={chosen.cleaned_data['email'].pk}")
            return pages.owner_form(
                self, request, "admin/schedules/schedule_owner.html", {"form": chosen, "title": _("Add schedule")}
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
                self.log_addition(request, schedule, "Added.")
                messages.success(
                    request,
                    _("“%(title)s” is created for %(email)s.") % {"title": schedule.title, "email": owner.email},
                )
                return _to(schedule)
        return pages.owner_form(self, request, _FORM, {"form": form, "title": _("Add schedule"), "owner": owner})

    @button(description=gettext_lazy("Edit"), url_path="edit", icon="edit", permissions=["act"])  # type: ignore[untyped-decorator]
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """With the owner's form."""
        if (schedule := self.get_object(request, object_id)) is None:  # the row whose permission was checked
            raise Http404
        now = fire.read_clock().now
        form = ReminderForm(posted(request), user=schedule.user, now=now, schedule=schedule)
        context: dict[str, Any] = {"form": form, "owner": schedule.user, "schedule": schedule}
        if schedule.deleted_at is None and form.is_valid():
            context["differences"] = form.reschedule(now, cast(User, request.user))
            if context["differences"] is None:
                self.log_change(request, schedule, "Edited.")
                messages.success(request, _("“%(title)s” is saved.") % {"title": form.cleaned_data["title"]})
                return _to(schedule)
            schedule.refresh_from_db(fields=["deleted_at"])
        if schedule.deleted_at is not None:
            messages.error(request, _("This schedule was deleted. Its owner can restore it."))
            return _to(schedule)
        context["title"] = _("Edit schedule")
        return pages.owner_form(self, request, _FORM, context, 409 if context.get("differences") else 200)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if (key := as_uuid(term)) is not None:
            return rows.filter(pk=key)
        if "@" in term:
            return rows.filter(user__in=person_ids(term))
        return rows.filter(title__icontains=term) | rows.filter(user__in=person_ids(term))

    @admin.action(description=gettext_lazy("Pause"), permissions=["act"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        changed = self._switch(request, queryset, editing.pause, {_ACTIVE, _AWAITING}, {Schedule.State.PAUSED})
        skipped = _("%(count)s skipped: already paused, finished, deleted, or with an invalid rule.")
        self.tell_changed(request, *changed, _("%(count)s paused."), skipped)

    @admin.action(description=gettext_lazy("Resume"), permissions=["act"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Also broken ones, whose rule is read again."""
        leaving = set(Schedule.State) - {_ACTIVE, _AWAITING, Schedule.State.ARCHIVED}
        changed = self._switch(request, queryset, editing.resume, leaving, {_ACTIVE, _AWAITING})
        skipped = _("%(count)s skipped: already resumed, finished, deleted, or with an invalid rule.")
        self.tell_changed(request, *changed, _("%(count)s resumed."), skipped)

    def _switch(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        act: Callable[[UUID, datetime, User], Schedule],
        leaving: set[Schedule.State],
        entering: set[Schedule.State],
    ) -> tuple[int, int]:
        """How many were chosen, and how many of them are in a state of `entering` now."""
        chosen, changed = list(queryset.values_list("pk", flat=True)), 0
        able = Schedule.objects.filter(id__in=chosen, state__in=leaving, deleted_at=None)
        for key in able.values_list("id", flat=True):
            with suppress(editing.ScheduleConflict), transaction.atomic():
                schedule = act(key, fire.read_clock().now, cast(User, request.user))
                if schedule.state in entering:
                    self.log_many(request, [schedule], "Paused." if act is editing.pause else "Resumed.")
                    changed += 1
        return len(chosen), changed

    title_short = columns.column(gettext_lazy("title"), "title", columns.short)
    tag_list = columns.column(gettext_lazy("tags"), "tags", ", ".join)
    words = columns.column(gettext_lazy("in words"), "when")
    state_label = columns.badge(
        gettext_lazy("state"),
        "",
        {"active": "success", "paused": "info", "broken": "danger"},
        lambda schedule: labelled(schedule.state if schedule.deleted_at is None else "deleted"),
    )
    next_slot = columns.instant_column(gettext_lazy("next slot"), "next_fire_at")
    times_sent = columns.column(gettext_lazy("times sent"), "fired_count")
    last_fired = columns.instant_column(gettext_lazy("last sent"), "last_fired_at")
    snoozed = columns.instant_column(gettext_lazy("snoozed until"), "snoozed_until")

    @admin.display(description=gettext_lazy("rows"))
    def rows(self, schedule: Schedule) -> SafeString:
        return columns.many(
            columns.to_list("schedules.occurrence", "occurrences", schedule__id__exact=schedule.pk),
            columns.to_list("notifications.notification", "notifications", origin_id=schedule.pk),
            columns.to_row("django_celery_beat.periodictask", schedule.periodic_task_id, _("periodic task")),
        )

    to_channels = columns.column(gettext_lazy("channels"), "", cells.channels)
    how_many = columns.column(gettext_lazy("order"), "", cells.order)
    starts = columns.instant_column(gettext_lazy("starts"), "starts_at")
    ends = columns.instant_column(gettext_lazy("ends"), "ends_at")


def _to(schedule: Schedule) -> HttpResponse:
    return redirect("admin:schedules_schedule_change", schedule.pk)
