"""What people did to dead letters, and what has become of those since."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import Record, RecordInline
from notifications import dead_letters
from notifications.admin import cells
from notifications.models import Intervention

_WATCHED = 5  # seconds
_SHOWN = 20


@admin.register(Intervention)
class InterventionAdmin(Record):
    """Its page looks again by itself for as long as something is on its way."""

    list_display = ("when", "what", "count", "which", "who", "reason")
    list_display_links = ("when",)
    ordering = ("-id",)
    arrivals = ("cause",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("what", "count"),
                    "progress",
                    "letters",
                    ("who", "when"),
                    ("which", "of_cause"),
                    "speed",
                    "reason",
                )
            },
        ),
    )
    readonly_fields = ("when", "progress", "letters", "of_cause", "speed")
    nothing = "Nobody has replayed or discarded a dead letter yet."

    def found(self, rows: Any, term: str) -> Any:
        return rows.none()

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        page: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        kept = Intervention.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if kept is not None and dead_letters.progress(kept).under_way:
            page["Refresh"] = str(_WATCHED)
        return page

    @admin.display(description="when")
    def when(self, kept: Intervention) -> SafeString:
        return columns.instant(kept.at)

    @admin.display(description="cause")
    def of_cause(self, kept: Intervention) -> SafeString:
        if not kept.cause:
            return SafeString(columns.NONE)
        return columns.to_page("admin:notifications_deadletter_cause", "what is left of it", cause=kept.cause)

    @admin.display(description="rate")
    def speed(self, kept: Intervention) -> str:
        return f"{kept.per_minute:,} a minute" if kept.per_minute else columns.NONE

    @admin.display(description="now")
    def progress(self, kept: Intervention) -> str:
        told = dead_letters.progress(kept)
        parts = {
            "waiting": told.waiting,
            "being sent": told.sending,
            "delivered": told.delivered,
            "failed again": told.failed,
            "cancelled or expired": told.dropped,
        }
        words = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
        return f"{words}." + (f" This page looks again every {_WATCHED} s." if told.under_way else "")

    @admin.display(description="deliveries")
    def letters(self, kept: Intervention) -> SafeString:
        """The failed first, for they are what a person looks for."""
        rows = sorted(kept.deliveries.order_by("-pk")[:_SHOWN], key=lambda row: row.state not in ("dead", "unknown"))
        lines = (
            (columns.to_row("notifications.delivery", row.pk, cells.key(row.pk)), row.state, row.reason) for row in rows
        )
        return format_html_join("", "<div>{} {} {}</div>", lines)


class InterventionInline(RecordInline):
    """What was done to one delivery."""

    model = Intervention.deliveries.through
    verbose_name_plural = "what people did"
    fields = readonly_fields = ("when", "who", "what", "reason")
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("intervention").order_by("intervention_id")

    @admin.display(description="when")
    def when(self, row: Any) -> SafeString:
        return columns.to_row("notifications.intervention", row.intervention_id, columns.instant(row.intervention.at))

    @admin.display(description="who")
    def who(self, row: Any) -> str:
        return str(row.intervention.who)

    @admin.display(description="what")
    def what(self, row: Any) -> str:
        return str(row.intervention.get_what_display())

    @admin.display(description="reason")
    def reason(self, row: Any) -> str:
        return row.intervention.reason or columns.NONE
