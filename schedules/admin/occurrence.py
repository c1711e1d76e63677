"""Occurrences: one row for each slot, fired or skipped."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyAdmin, as_uuid
from common.admin.filters import Period, newest_filter
from common.texts.state_words import labelled
from common.times import durations
from jobs.models import Job
from notifications.admin import cells
from notifications.models import Notification
from people.admin.user import to_person
from schedules.models import Occurrence

Outcome = newest_filter("outcome", lambda: [labelled(outcome) for outcome in Occurrence.Outcome.values])
Reason = newest_filter("reason", lambda: Occurrence.Reason.choices)


@admin.register(Occurrence)
class OccurrenceAdmin(ReadOnlyAdmin):
    owner = "schedule__user"
    list_display = ("slot", "to_schedule", "outcome_label", "why", "person", "fired", "lateness", "result")
    related = ("schedule__user",)
    list_filter = (Outcome, Reason, Period)
    link_lookups = ("schedule__id__exact",)
    fieldsets = (
        columns.section(
            None, "why", "outcome_label", ("to_schedule", "person"), ("slot", "fired"), ("lateness", "result")
        ),
        columns.section(_("Technical details"), ("id", "version")),
    )
    search_fields = ("id",)
    search_help_text = _("A batch (the id of an occurrence), or a schedule's id.")
    empty_text = _("No occurrences yet. Each slot of a schedule records one.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        notification = Notification.objects.filter(batch_id=OuterRef("pk"), user=OuterRef("schedule__user"))
        job = Job.objects.filter(batch_id=OuterRef("pk"), user=OuterRef("schedule__user"))
        return (
            super()
            .get_queryset(request)
            .annotate(notification=Subquery(notification.values("pk")[:1]), job=Subquery(job.values("pk")[:1]))
        )

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if (key := as_uuid(term)) is None:
            return rows.none()
        return rows.filter(pk=key) if Occurrence.objects.filter(pk=key).exists() else rows.filter(schedule=key)

    slot = columns.instant_column(_("slot"), "scheduled_for")
    to_schedule = columns.column(_("schedule"), "schedule", cells.schedule)
    person = columns.column(_("owner"), "schedule.user", to_person)
    fired = columns.instant_column(_("recorded"), "fired_at")

    @admin.display(description=_("lateness"))
    def lateness(self, occurrence: Occurrence) -> str:
        late = occurrence.fired_at - occurrence.scheduled_for
        # One that was skipped was sent at no time, so it is not late either.
        if occurrence.outcome == Occurrence.Outcome.SKIPPED or late < timedelta(0):
            return columns.NONE
        return durations.in_words(late).replace(" ", "\N{NO-BREAK SPACE}")

    outcome_label = columns.badge(_("outcome"), "outcome", {"fired": "success", "skipped": "warning"})
    why = columns.column(_("reason"), "", lambda row: row.get_reason_display() or columns.NONE)

    @admin.display(description=_("led to"))
    def result(self, occurrence: Any) -> SafeString:
        if occurrence.notification is None:
            return columns.to_row("jobs.job", occurrence.job, "job")
        return columns.to_row("notifications.notification", occurrence.notification, "notification")
