"""Interventions: replays and discards of dead letters, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import ReadOnlyAdmin, ReadOnlyInline
from notifications import dead_letters
from notifications.admin import cells
from notifications.dead_letters import Done, Who
from notifications.models import Delivery, Intervention
from people.models import User

_RELOAD = 5  # seconds
_STATE = Delivery.State
_PROGRESS = {
    "waiting": [_STATE.PENDING],
    "being sent": [_STATE.SENDING],
    "delivered": [_STATE.DELIVERED],
    "failed again": [_STATE.DEAD, _STATE.UNKNOWN],
    "cancelled or expired": [_STATE.CANCELLED, _STATE.EXPIRED],
}
_SHOWN = 20


@admin.register(Intervention)
class InterventionAdmin(ReadOnlyAdmin):
    """Its page reloads until all deliveries have settled."""

    list_display = ("when", "what", "count", "which", "who", "reason")
    list_display_links = ("when",)
    ordering = ("-id",)
    link_lookups = ("cause",)
    fields = (("what", "count"), "progress", "letters", ("who", "when"), ("which", "of_cause"), "speed", "reason")
    empty_text = "No dead letter was replayed or discarded yet."

    def search(self, rows: Any, term: str) -> Any:
        return rows.none()

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        page: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        row = Intervention.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if row is not None and row.deliveries.filter(state__in=Delivery.OPEN).exists():
            page["Refresh"] = str(_RELOAD)
        return page

    when = columns.instant_column("when", "at")

    @admin.display(description="cause")
    def of_cause(self, row: Intervention) -> SafeString:
        if not row.cause:
            return SafeString(columns.NONE)
        return columns.to_page("admin:notifications_deadletter_cause", "cause", cause=row.cause)

    @admin.display(description="rate")
    def speed(self, row: Intervention) -> str:
        return f"{row.per_minute:,} a minute" if row.per_minute else columns.NONE

    @admin.display(description="now")
    def progress(self, row: Intervention) -> str:
        counts = dead_letters.progress(row)
        parts = {name: sum(counts.get(state, 0) for state in states) for name, states in _PROGRESS.items()}
        words = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
        return f"{words}." + (f" This page reloads every {_RELOAD} s." if counts.keys() & set(Delivery.OPEN) else "")

    @admin.display(description="deliveries")
    def letters(self, row: Intervention) -> SafeString:
        """Failed deliveries first."""
        rows = sorted(row.deliveries.order_by("-pk")[:_SHOWN], key=lambda row: row.state not in ("dead", "unknown"))
        lines = (
            (columns.to_row("notifications.delivery", row.pk, cells.key(row.pk)), row.state, row.reason) for row in rows
        )
        return format_html_join("", "<div>{} {} {}</div>", lines)


@transaction.atomic
def intervene(request: HttpRequest, act: Callable[[Who], Done], log_message: str) -> Done:
    """Let the operator act on dead letters, and write it to the log of each delivery."""
    operator = cast(User, request.user)
    done = act(Who(operator.pk, operator.email))
    LogEntry.objects.log_actions(operator.pk, [Delivery(pk=key) for key in done.changed], CHANGE, log_message)
    return done


class InterventionInline(ReadOnlyInline):
    """Interventions on one delivery."""

    model = Intervention.deliveries.through
    verbose_name_plural = "interventions"
    fields = readonly_fields = ("when", "who", "what", "reason")
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("intervention").order_by("intervention_id")

    @admin.display(description="when")
    def when(self, row: Any) -> SafeString:
        return columns.to_row("notifications.intervention", row.intervention_id, columns.instant(row.intervention.at))

    who = columns.column("who", "intervention.who")
    what = columns.column("what", "intervention.what", lambda what: Intervention.What(what).label)
    reason = columns.column("reason", "intervention.reason", lambda reason: reason or columns.NONE)
