"""Jobs with their attempts, and the dead letters among them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from jobs import kinds
from jobs.kind import JOB
from jobs.models import DeadLetter, Job
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class JobRecord(WorkAdmin):
    """The common part of jobs and dead letters."""

    kind = JOB
    about = (
        ("kind_label", "queue"),
        ("person", "due"),
        ("connection", "notification"),
        "on_error",
        "payload",
    )
    technical = ("batch_id", "cause")
    list_select_related = ("user",)
    search_help_text = _("The id of a reminder, of a batch, or an idempotency key.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(origin_id=key) | Q(batch_id=key))

    def handler_label(self, handler: str) -> str:
        return kinds.label(handler)

    @admin.display(description=_("kind"))
    def kind_label(self, job: Job) -> str:
        return kinds.label(job.kind)

    @admin.display(description=_("person"))
    def person(self, job: Job) -> Any:
        return columns.to_row("people.user", job.user_id, job.user.email)

    @admin.display(description=_("notification"))
    def notification(self, job: Job) -> SafeString | str:
        return columns.to_row("notifications.notification", job.notification_id, "notification")

    due = columns.instant_column(_("due"), "slot")


@admin.register(Job)
class JobAdmin(JobRecord):
    list_display = ("kind_label", "state_label", "why", "person", "due", "tries", "available")
    link_lookups = ("user__id__exact", "connection__id__exact")
    empty_text = _("No reminder has looked at anything yet.")


@admin.register(DeadLetter)
class DeadJobAdmin(DeadLetterAdmin, JobRecord):
    list_display = ("kind_label", "state_label", "why", "person", "settled", "tries", "replays")
    newest = ("kind_label", "person", "why", "settled")
