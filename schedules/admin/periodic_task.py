"""Periodic tasks: what the stock loop of beat runs, and the mirror rows of our schedules.

A mirror row says what its schedule does. Enabling one resumes its schedule and disabling it pauses that, by whichever
form or action it is done; nothing else of it can be changed, for the next edit of the schedule would overwrite it.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django_celery_beat import admin as stock
from django_celery_beat.models import CrontabSchedule, PeriodicTask, cronexp
from kombu.exceptions import OperationalError
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common import zones
from common.admin import columns
from common.admin.base import BaseAdmin, as_uuid
from notifications.admin import cells
from schedules import mirror
from schedules.admin import schedule_actions
from schedules.beat import stock_entries

admin.site.unregister(PeriodicTask)


class TaskSelect(UnfoldAdminSelectWidget, stock.TaskSelectWidget):  # type: ignore[misc]  # neither ships types
    pass


class PeriodicTaskForm(stock.PeriodicTaskForm):  # type: ignore[misc]  # django-celery-beat ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()

    def clean(self) -> dict[str, Any]:
        """Refuse what beat could not run. Replaces stock's way, which fails where the task itself is refused."""
        data: dict[str, Any] = forms.ModelForm.clean(self) or self.cleaned_data
        data["task"] = data.get("regtask") or data.get("task", "")
        if not data["task"] and "task" not in self.errors:
            self.add_error("task", "Choose a registered task, or write the name of another one.")
        if data.get("expire_seconds") is not None and data.get("expires"):
            self.add_error("expires", "Set either this or the seconds after which a run expires, not both.")
        self._check(data)
        self.instance.solar = None  # one that was chosen before is replaced
        return data

    def _clean_json(self, field: str) -> Any:
        return self.cleaned_data[field]  # `clean` looks at it

    def _check(self, data: dict[str, Any]) -> None:
        fields = ("args", "kwargs", "headers", "interval", "crontab", "clocked")
        try:
            stock_entries.check(PeriodicTask(**{name: data[name] for name in fields if name in data}))
        except stock_entries.Damaged as damaged:
            if damaged.field not in self.errors:
                self.add_error(damaged.field, str(damaged))


class Which(admin.SimpleListFilter):
    title = "which"
    parameter_name = "which"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("others", "of the stock loop"), ("mirror", "of schedules")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "mirror":
            return queryset.filter(task=mirror.FIRE)
        return queryset.exclude(task=mirror.FIRE) if self.value() == "others" else queryset


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(BaseAdmin):
    form = PeriodicTaskForm
    celery_app = stock.PeriodicTaskAdmin.celery_app  # stock's actions look for it here
    list_display = ("label", "enabled", "to_schedule", "timing", "last_run", "total_run_count", "one_off")
    list_filter = (Which,)
    list_disable_select_all = True  # each schedule is paused in a transaction of its own
    ordering = ("-id",)
    search_fields = ("name",)
    search_help_text = "The beginning of a name, or a schedule's id."
    autocomplete_fields = ("interval", "crontab", "clocked")
    # Stock's, without solar timings: what they need is not installed.
    fieldsets = (
        stock.PeriodicTaskAdmin.fieldsets[0],
        (
            "Schedule",
            {
                "fields": (
                    "interval",
                    "crontab",
                    "crontab_translation",
                    "clocked",
                    "start_time",
                    "last_run_at",
                    "one_off",
                )
            },
        ),
        *stock.PeriodicTaskAdmin.fieldsets[2:],
    )
    readonly_fields = ("last_run_at", "crontab_translation")
    actions = ("enable_tasks", "disable_tasks", "toggle_tasks", "run_tasks")
    empty_text = "No periodic tasks yet. Beat adds its own when it first starts, and each schedule adds one."

    mirror_fieldsets = (
        (None, {"fields": ("label", "to_schedule", "enabled")}),
        ("When", {"fields": ("description", "timing", ("start_time", "expires"), "one_off")}),
        ("Runs", {"fields": (("last_run", "total_run_count"),)}),
        ("What beat sends", {"fields": ("task", "args")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        related = ("interval", "crontab", "solar", "clocked", "mirrored_schedule")
        rows: QuerySet[Any] = super().get_queryset(request).select_related(*related)
        # A crontab's zone that is gone from the zone database cannot be read as one, and would fail the whole list.
        rows = rows.defer("crontab__timezone").annotate(crontab_zone=Cast("crontab__timezone", TextField()))
        return rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        task = super().get_object(request, object_id, from_field)
        if task is not None and task.crontab is not None:
            vars(task.crontab)["timezone"] = task.crontab_zone  # as text: the page's title names it
        return task

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "crontab":
            kwargs["queryset"] = CrontabSchedule.objects.filter(timezone__in=zones.known())
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.filter(name__startswith=term) if key is None else rows.filter(mirrored_schedule=key)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if _mirrors(obj):
            kwargs["form"] = forms.ModelForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.mirror_fieldsets if _mirrors(obj) else super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if not _mirrors(obj):
            return self.readonly_fields
        shown = [name for _, part in self.mirror_fieldsets for line in part["fields"] for name in _names(line)]
        return [name for name in shown if name != "enabled"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not _mirrors(obj)

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)  # would delete mirror rows; one of the stock loop has a button of its own
        return actions

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not _mirrors(obj):
            super().save_model(request, obj, form, change)
        elif "enabled" in form.changed_data:
            self._switch(request, [obj.mirrored_schedule.pk], obj.enabled)

    @admin.action(description="Enable", permissions=["change"])
    def enable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch_all(request, queryset.filter(enabled=False), on=True)
        if (others := queryset.exclude(mirrored_schedule__isnull=False)).exists():
            stock.PeriodicTaskAdmin.enable_tasks(self, request, others)

    @admin.action(description="Disable", permissions=["change"])
    def disable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch_all(request, queryset.filter(enabled=True), on=False)
        if (others := queryset.exclude(mirrored_schedule__isnull=False)).exists():
            stock.PeriodicTaskAdmin.disable_tasks(self, request, others)

    @admin.action(description="Enable those disabled, disable those enabled", permissions=["change"])
    def toggle_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        mirrors = dict(queryset.filter(mirrored_schedule__isnull=False).values_list("mirrored_schedule", "enabled"))
        for on in (True, False):
            if keys := [key for key, enabled in mirrors.items() if enabled is not on]:
                self._switch(request, keys, on)
        if (others := queryset.exclude(mirrored_schedule__isnull=False)).exists():
            stock.PeriodicTaskAdmin.toggle_tasks(self, request, others)

    @admin.action(description="Run now (a schedule only if it is due)", permissions=["change"])
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Publish each task. A mirror row's goes through the same claim as beat's, so it fires nothing twice."""
        try:
            stock.PeriodicTaskAdmin.run_tasks(self, request, queryset)
        except OperationalError:
            self.message_user(request, "The broker cannot be reached; try again.", messages.ERROR)

    def _switch_all(self, request: HttpRequest, rows: QuerySet[Any], *, on: bool) -> None:
        keys = list(rows.filter(mirrored_schedule__isnull=False).values_list("mirrored_schedule", flat=True))
        if keys:
            self._switch(request, keys, on)

    def _switch(self, request: HttpRequest, keys: list[Any], on: bool) -> None:
        switched = schedule_actions.resume(request, keys) if on else schedule_actions.pause(request, keys)
        words = switched.message("resumed" if on else "paused")
        self.message_user(request, words, messages.WARNING if switched.left else messages.SUCCESS)

    _toggle_tasks_activity = stock.PeriodicTaskAdmin._toggle_tasks_activity
    crontab_translation = stock.PeriodicTaskAdmin.crontab_translation

    label = columns.column("name", "name", cells.short)

    @admin.display(description="schedule")
    def to_schedule(self, task: PeriodicTask) -> SafeString:
        if not _mirrors(task):
            return SafeString(columns.NONE)
        return columns.to_row(
            "schedules.schedule", task.mirrored_schedule.pk, cells.short(task.mirrored_schedule.title)
        )

    @admin.display(description="timing")
    def timing(self, task: PeriodicTask) -> str:
        if task.crontab is None:
            return str(task.interval or task.solar or task.clocked or columns.NONE)
        crontab = task.crontab
        fields = (crontab.minute, crontab.hour, crontab.day_of_month, crontab.month_of_year, crontab.day_of_week)
        return f"{' '.join(map(cronexp, fields))} (m/h/dM/MY/d) {task.crontab_zone}"

    last_run = columns.instant_column("last run", "last_run_at")


def _mirrors(task: Any) -> bool:
    return task is not None and hasattr(task, "mirrored_schedule")


def _names(line: str | tuple[str, ...]) -> tuple[str, ...]:
    return (line,) if isinstance(line, str) else line
