"""Periodic tasks: the stock entries of beat, and one read-only row for each schedule; their timings and results.

The row of a schedule is a projection (see `mirror`), so this admin shows the schedule's own numbers and links
to it. To stop it, pause the schedule.
"""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy
from django_celery_beat import admin as stock
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule
from django_celery_results import admin as stock_results
from django_celery_results.models import GroupResult, TaskResult
from kombu.exceptions import OperationalError
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin import columns
from common.admin.base import BaseAdmin, ReadOnly, ReadOnlyAdmin, as_uuid
from common.admin.damaged import SafeAdmin
from common.admin.filters import newest_filter
from notifications.admin import cells
from schedules.beat import stock_entries
from schedules.models import Schedule
from schedules.parts import mirror

for model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule, TaskResult):
    admin.site.unregister(model)
admin.site.unregister(GroupResult)  # Carillon uses no groups


class PeriodicTaskForm(stock.PeriodicTaskForm):  # type: ignore[misc]  # django-celery-beat ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = UnfoldAdminSelectWidget(choices=stock.TaskSelectWidget().choices)

    def clean(self) -> dict[str, Any]:
        """Refuse what beat could not run. Replaces stock's way, which fails where the task itself is refused."""
        data: dict[str, Any] = forms.ModelForm.clean(self) or self.cleaned_data
        data["task"] = data.get("regtask") or data.get("task", "")
        if not data["task"] and "task" not in self.errors:
            self.add_error("task", _("Choose a registered task, or write the name of another one."))
        if data.get("expire_seconds") is not None and data.get("expires"):
            self.add_error("expires", _("Set either this or the seconds after which a run expires, not both."))
        fields = ("args", "kwargs", "headers", "interval", "crontab", "clocked")
        task = PeriodicTask(**{name: data[name] for name in fields if name in data})
        _refuse_damaged(self, stock_entries.check, task)
        self.instance.solar = None  # one that was chosen before is replaced
        return data

    def _clean_json(self, field: str) -> Any:
        return self.cleaned_data[field]  # `clean` checks it


class TimingForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    def _post_clean(self) -> None:
        """Refuse a timing for which beat cannot compute the next run."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if not self.errors:
            _refuse_damaged(self, stock_entries.check_timing, self.instance, NON_FIELD_ERRORS)


def _refuse_damaged(form: forms.BaseForm, check: Callable[..., None], *checked: Any) -> None:
    try:
        check(*checked)
    except stock_entries.Damaged as damaged:
        if damaged.field not in form.errors:
            form.add_error(damaged.field, str(damaged))


Which = newest_filter(
    "which",
    lambda: [("others", _("of the stock loop")), ("mirror", _("of schedules"))],
    indexed=("others", "mirror"),
    condition=lambda which: Q(task=mirror.FIRE) if which == "mirror" else ~Q(task=mirror.FIRE),
)


def _of_stock_entries(action: str, description: Any) -> Any:
    """Stock's action; a message says what to do about selected rows of schedules."""

    @admin.action(description=description, permissions=["change"])
    def act(self: BaseAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        if schedules := queryset.filter(mirrored_schedule__isnull=False).count():
            text = _("%(count)s unchanged: pause or resume a schedule in the list of schedules.")
            self.message_user(request, text % {"count": schedules}, messages.WARNING)
        if (entries := queryset.filter(mirrored_schedule=None)).exists():
            getattr(stock.PeriodicTaskAdmin(PeriodicTask, self.admin_site), action)(request, entries)

    return act


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(BaseAdmin):
    owner = "mirrored_schedule__user"
    related = ("interval", "crontab", "solar", "clocked", "mirrored_schedule")
    form = PeriodicTaskForm
    celery_app = stock.PeriodicTaskAdmin.celery_app
    crontab_translation = stock.PeriodicTaskAdmin.crontab_translation
    list_display = ("label", "is_enabled", "to_schedule", "timing", "last_run", "runs", "one_off")
    list_filter = (Which,)
    list_disable_select_all = True  # there may be a million
    search_fields = ("name",)
    search_help_text = gettext_lazy("The beginning of a name, or a schedule's id.")
    autocomplete_fields = ("interval", "crontab", "clocked")
    readonly_fields = ("last_run_at", "crontab_translation")
    actions = ("enable_tasks", "disable_tasks", "toggle_tasks", "run_tasks")
    # Stock's, without solar timings: what they need is not installed.
    fieldsets = [
        (title, options | {"fields": [name for name in options["fields"] if name != "solar"]})
        for title, options in stock.PeriodicTaskAdmin.fieldsets
    ]
    empty_text = gettext_lazy(
        "No periodic tasks yet. Beat adds its own when it first starts, and each schedule adds one."
    )

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.filter(name__startswith=term) if key is None else rows.filter(mirrored_schedule=key)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if _schedule(obj) is None:
            return super().get_fieldsets(request, obj)
        return (
            columns.section(None, "label", "to_schedule", "is_enabled"),
            columns.section(_("When"), "description", "timing", ("start_time", "expires"), "one_off"),
            columns.section(_("Runs"), ("last_run", "runs")),
            columns.section(_("What beat sends"), "task", "args"),
        )

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_change_permission(request, obj) and not _schedule(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not _schedule(obj)

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)  # would delete rows of schedules; a stock entry has its own button
        return actions

    enable_tasks = _of_stock_entries("enable_tasks", gettext_lazy("Enable (stock entries)"))
    disable_tasks = _of_stock_entries("disable_tasks", gettext_lazy("Disable (stock entries)"))
    toggle_tasks = _of_stock_entries(
        "toggle_tasks", gettext_lazy("Enable those disabled, disable those enabled (stock entries)")
    )

    @admin.action(description=gettext_lazy("Run now (a schedule only if it is due)"), permissions=["change"])
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Publish each task. A schedule's task claims it as beat does, so that it fires nothing twice."""
        try:
            stock.PeriodicTaskAdmin.run_tasks(self, request, queryset)
        except OperationalError:
            self.message_user(request, _("The broker cannot be reached; try again."), messages.ERROR)

    label = columns.column(gettext_lazy("name"), "name", columns.short)
    timing = columns.column(gettext_lazy("timing"), "scheduler", lambda timing: str(timing or columns.NONE))
    to_schedule = columns.column(gettext_lazy("schedule"), "", lambda task: cells.schedule(_schedule(task)))

    @admin.display(description=gettext_lazy("enabled"), boolean=True)
    def is_enabled(self, task: PeriodicTask) -> bool:
        schedule = _schedule(task)
        return bool(task.enabled) if schedule is None else schedule.next_fire_at is not None

    @admin.display(description=gettext_lazy("last run"))
    def last_run(self, task: PeriodicTask) -> SafeString:
        schedule = _schedule(task)
        return columns.instant(task.last_run_at if schedule is None else schedule.last_fired_at)

    @admin.display(description=gettext_lazy("runs"))
    def runs(self, task: PeriodicTask) -> int:
        schedule = _schedule(task)
        return int(task.total_run_count) if schedule is None else schedule.fired_count


def _schedule(task: Any) -> Schedule | None:
    """The schedule that a periodic task is the row of; None for a stock entry."""
    return getattr(task, "mirrored_schedule", None)


class Timing(ReadOnly, SafeAdmin):
    """Periodic tasks share timings, so they are added and never changed.

    Reached from the form of a periodic task, without the stock list of tasks, which can be very long.
    """

    owner = ""
    form = TimingForm

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False


admin.site.register(ClockedSchedule, Timing, search_fields=("clocked_time",), fields=stock.ClockedScheduleAdmin.fields)
admin.site.register(IntervalSchedule, Timing, search_fields=("every", "period"))
admin.site.register(
    CrontabSchedule,
    Timing,
    search_fields=("minute", "hour", "day_of_week", "timezone"),
    fields=stock.CrontabScheduleAdmin.fields,
    readonly_fields=("human_readable",),
)


@admin.register(TaskResult)
class TaskResultAdmin(ReadOnlyAdmin):
    """Results of maintenance tasks. Deliveries record attempts instead."""

    owner = ""
    list_display = ("task_id", "task_name", "of_periodic_task", "status", "done", "worker")
    list_filter = ("status",)
    ordering = ("-date_done",)
    link_lookups = ("periodic_task_name",)
    fieldsets = stock_results.TaskResultAdmin.fieldsets
    search_fields = ("task_id",)
    search_help_text = gettext_lazy("A task's id or its whole name.")
    empty_text = gettext_lazy("No results yet. Each run of a maintenance task records one.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(task_id=term) | rows.filter(task_name=term)

    @admin.display(description=gettext_lazy("periodic task"))
    def of_periodic_task(self, result: Any) -> SafeString:
        name = result.periodic_task_name
        return columns.to_list("django_celery_beat.periodictask", name, q=name) if name else SafeString(columns.NONE)

    done = columns.instant_column(gettext_lazy("done"), "date_done")
