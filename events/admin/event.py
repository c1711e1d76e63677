"""The admin pages of events and digests, and of their dead letters."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet

from common.admin import columns
from common.admin.base import as_uuid
from events.digest_kind import DIGEST
from events.kind import EVENT
from events.models import DeadDigest, DeadLetter, Digest, Event
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


class DigestRecord(WorkAdmin):
    kind = DIGEST
    about = (("rule_name", "person"), ("type_pattern", "key_value"), ("gathered", "hops"), "notification_id")
    list_select_related = ("user", "rule")
    search_help_text = "The id of a digest, or of its notification."

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(notification_id=key))

    @admin.display(description="person")
    def person(self, digest: Digest) -> Any:
        return columns.to_row("people.user", digest.user_id, digest.user.email)

    rule_name = columns.column("rule", "rule.name")


@admin.register(Digest)
class DigestAdmin(DigestRecord):
    list_display = ("rule_name", "state_label", "person", "gathered", "available", "settled", "why")
    empty_text = "No rule has gathered events yet."


@admin.register(DeadDigest)
class DeadDigestAdmin(DeadLetterAdmin, DigestRecord):
    list_display = ("rule_name", "state_label", "why", "person", "gathered", "settled", "tries", "replays")
    newest = ("rule_name", "person", "why", "settled")
