"""Jobs with their attempts, batches with their progress, the dead letters among them; connections, never a secret."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from common.admin import columns
from common.admin.filters import newest_filter
from common.texts.numbers import grouped
from common.texts.state_words import labelled, state_word
from jobs import connections, kinds
from jobs.batches import progress as batches
from jobs.batches.kind import BATCH
from jobs.checks.kind import JOB
from jobs.models import Batch, Connection, DeadBatch, DeadLetter, Job
from notifications.admin import cells
from people.admin.user import OwnedAdmin, to_person
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


@admin.register(Job)
class JobAdmin(WorkAdmin):
    kind = JOB
    list_display = ("kind_label", "state_label", "why", "person", "due", "tries", "available")
    link_lookups: ClassVar[tuple[str, ...]] = ("user__id__exact", "connection__id__exact")
    empty_text = _("No reminder has checked anything yet.")
    about = (("kind_label", "queue"), ("person", "due"), ("connection", "notification"), "on_error", "payload")
    technical = ("batch_id", "cause")
    search_ids = ("origin_id", "batch_id")
    search_help_text = _("The id of a reminder, of a batch, or an idempotency key.")

    def handler_label(self, handler: str) -> str:
        return kinds.label(handler)

    kind_label = columns.column(_("kind"), "kind", kinds.label)
    notification = columns.column(_("notification"), "notification_id", cells.to_notification)
    due = columns.instant_column(_("due"), "slot")


@admin.register(DeadLetter)
class DeadJobAdmin(DeadLetterAdmin, JobAdmin):
    list_display = ("kind_label", "state_label", "why", "person", "settled", "tries", "replays")


@admin.register(Batch)
class BatchAdmin(WorkAdmin):
    kind = BATCH
    list_display = ("title", "state_label", "person", "audience", "size", "told", "progress", "ended")
    empty_text = _("Nobody has told many people at once yet.")
    about = (
        ("title", "person"),
        ("audience", "audience_key"),
        ("size", "told"),
        ("reached", "progress"),
        "ended",
        "rows",
    )
    technical = (("job_kind", "origin_id"), "cause")
    search_ids = ("origin_id",)
    search_help_text = _("The id of a batch, or of its reminder or topic.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        batches: Any = super().get_queryset(request)
        return batches.with_counts()

    person = columns.column(_("caused by"), "user", to_person)

    title = columns.column(_("title"), "")

    @admin.display(description=_("progress"))
    def progress(self, batch: Batch) -> str:
        counted = batches.progress_of(batch)
        counts = ", ".join(f"{grouped(count)} {state_word(name)}" for name, count in counted.parts.items() if count)
        if not counts:
            return f"{counted.percent} %"
        return gettext("%(percent)s %%: %(said)s of %(total)s") % {
            "percent": counted.percent,
            "said": counts,
            "total": grouped(counted.total),
        }

    @admin.display(description=_("rows"))
    def rows(self, batch: Batch) -> SafeString:
        return columns.many(columns.to_list("notifications.notification", "notifications", batch_id=batch.pk))

    ended = columns.instant_column(_("ended"), "ended_at")


@admin.register(DeadBatch)
class DeadBatchAdmin(DeadLetterAdmin, BatchAdmin):
    list_display = ("title", "state_label", "why", "person", "audience", "settled", "tries", "replays")


KindFilter = newest_filter("kind", lambda: [(kind.name, kind.label) for kind in connections.all()])


@admin.register(Connection)
class ConnectionAdmin(OwnedAdmin):
    list_display = ("label", "kind_name", "address_summary", "state", "why", "person", "rows")
    deferred = ("sealed_secrets",)
    list_filter = (KindFilter,)
    fieldsets = (
        columns.section(None, ("label", "kind_name"), "address_summary", ("person", "state"), "why", "rows"),
        columns.section(_("Instants"), ("created", "verified"), ("working", "failing"), ("disabled", "removed")),
    )
    empty_text = _("Nobody has connected anything yet.")

    kind_name = columns.column(_("kind"), "kind_label")
    address_summary = columns.column(_("address"), "summary")
    why = columns.column(_("why"), "failing_reason")
    state = columns.badge(
        _("state"),
        "",
        {"working": "success", "failing": "warning", "disabled": "warning", "unchecked": "info"},
        lambda connection: labelled("removed" if connection.removed_at is not None else connection.state),
    )

    @admin.display(description=_("rows"))
    def rows(self, connection: Connection) -> SafeString:
        return columns.many(
            columns.to_list("jobs.job", "jobs", connection__id__exact=connection.pk),
            columns.to_list("schedules.schedule", "schedules", connection__id__exact=connection.pk),
        )

    working = columns.instant_column(_("working since"), "working_since")
