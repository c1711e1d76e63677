"""Timings of django-celery-beat. Periodic tasks share them, so they are added and never changed."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import QuerySet
from django.http import HttpRequest
from django_celery_beat import admin as stock
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, SolarSchedule

from common import zones
from common.admin.base import ReadOnly
from common.admin.damaged import SafeAdmin
from schedules.beat import stock_entries

for model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, SolarSchedule):
    admin.site.unregister(model)


class TimingForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    def _post_clean(self) -> None:
        """Refuse a timing for which beat cannot compute the next run."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if not self.errors:
            try:
                stock_entries.check_timing(self.instance, NON_FIELD_ERRORS)
            except stock_entries.Damaged as damaged:
                self.add_error(None, str(damaged))


class Timing(ReadOnly, SafeAdmin):
    """Reached from the form of a periodic task, without the stock list of tasks, which can be very long."""

    owner = ""
    form = TimingForm

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(Timing):
    fields: Any = stock.ClockedScheduleAdmin.fields
    search_fields = ("clocked_time",)


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(Timing):
    fields: Any = stock.CrontabScheduleAdmin.fields
    readonly_fields = ("human_readable",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Only rows with a known zone; an unknown one would fail the whole list."""
        rows: QuerySet[Any] = super().get_queryset(request).filter(timezone__in=zones.known())
        return rows

    search_fields = ("minute", "hour", "day_of_week", "timezone")


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(Timing):
    search_fields = ("every", "period")
