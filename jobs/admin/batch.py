"""Batches with their progress, and the dead letters among them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import as_uuid
from common.numbers import grouped
from common.state_words import state_word
from jobs import batches
from jobs.batch_kind import BATCH
from jobs.models import Batch, DeadBatch
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class BatchRecord(WorkAdmin):
    """The common part of batches and dead letters."""

    kind = BATCH
    about = (
        ("title", "person"),
        ("audience", "audience_key"),
        ("size", "told"),
        ("reached", "progress"),
        ("recorded", "ended"),
        "rows",
    )
    technical = (("job_kind", "origin_id"), "cause")
    list_select_related = ("user",)
    search_help_text = _("The id of a batch, or of its reminder or topic.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found: Any = super().get_queryset(request)
        rows: QuerySet[Any] = found.with_counts()
        return rows

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(origin_id=key))

    @admin.display(description=_("caused by"))
    def person(self, batch: Batch) -> Any:
        return columns.to_row("people.user", batch.user_id, batch.user.email)

    @admin.display(description=_("title"))
    def title(self, batch: Batch) -> str:
        return str(batch)

    @admin.display(description=_("progress"))
    def progress(self, batch: Batch) -> str:
        counted = batches.progress_of(batch)
        parts = {name: getattr(counted, name) for name in ("completed", "processing", "pending", "failed", "dropped")}
        said = ", ".join(f"{grouped(count)} {state_word(name)}" for name, count in parts.items() if count)
        if not said:
            return f"{counted.percent} %"
        return gettext("%(percent)s %%: %(said)s of %(total)s") % {
            "percent": counted.percent,
            "said": said,
            "total": grouped(counted.total),
        }

    @admin.display(description=_("rows"))
    def rows(self, batch: Batch) -> SafeString:
        return columns.many(columns.to_list("notifications.notification", "notifications", batch_id=batch.pk))

    recorded = columns.instant_column(_("recorded"), "created_at")
    ended = columns.instant_column(_("ended"), "ended_at")


@admin.register(Batch)
class BatchAdmin(BatchRecord):
    list_display = ("title", "state_label", "person", "audience", "size", "told", "progress", "ended")
    link_lookups = ("user__id__exact",)
    empty_text = _("Nobody has told many people at once yet.")


@admin.register(DeadBatch)
class DeadBatchAdmin(DeadLetterAdmin, BatchRecord):
    list_display = ("title", "state_label", "why", "person", "audience", "settled", "tries", "replays")
    newest = ("title", "person", "why", "settled")
