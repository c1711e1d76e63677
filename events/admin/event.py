"""The admin pages of events and of their dead letters."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet

from common.admin import columns
from common.admin.base import as_uuid
from events.kind import EVENT
from events.models import DeadLetter, Event
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class EventRecord(WorkAdmin):
    kind = EVENT
    about = (
        ("type", "source"),
        ("person", "occurred"),
        ("correlation_id", "hops"),
        ("topic", "audience", "told", "reached"),
        "data",
    )
    list_select_related = ("user",)
    search_help_text = "A correlation id, or the event's own id here."

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(correlation_id=key))

    @admin.display(description="person")
    def person(self, event: Event) -> Any:
        return columns.to_row("people.user", event.user_id, event.user.email)

    occurred = columns.instant_column("occurred", "occurred_at")


@admin.register(Event)
class EventAdmin(EventRecord):
    list_display = ("type", "state_label", "source", "person", "occurred", "tries", "available", "why")
    empty_text = "No event was published yet."


@admin.register(DeadLetter)
class DeadEventAdmin(DeadLetterAdmin, EventRecord):
    list_display = ("type", "state_label", "why", "source", "person", "settled", "tries", "replays")
    newest = ("type", "person", "why", "settled")
