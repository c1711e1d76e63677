"""Results of maintenance tasks. Deliveries record attempts instead."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_celery_results import admin as stock
from django_celery_results.models import GroupResult, TaskResult

from common.admin import columns
from common.admin.base import ReadOnlyAdmin

admin.site.unregister(TaskResult)
admin.site.unregister(GroupResult)  # Carillon uses no groups


@admin.register(TaskResult)
class TaskResultAdmin(ReadOnlyAdmin):
    owner = ""
    list_display = ("task_id", "task_name", "of_periodic_task", "status", "done", "worker")
    list_filter = ("status",)
    ordering = ("-date_done",)
    link_lookups = ("periodic_task_name",)
    fieldsets = stock.TaskResultAdmin.fieldsets
    search_fields = ("task_id",)
    search_help_text = _("A task's id or its whole name.")
    empty_text = _("No results yet. Each run of a maintenance task records one.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(task_id=term) | rows.filter(task_name=term)

    @admin.display(description=_("periodic task"))
    def of_periodic_task(self, result: Any) -> SafeString:
        name = result.periodic_task_name
        return columns.to_list("django_celery_beat.periodictask", name, q=name) if name else SafeString(columns.NONE)

    done = columns.instant_column(_("done"), "date_done")
