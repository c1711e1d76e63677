"""Events with their attempts and effects, and the dead letters among them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyInline, as_uuid
from events.kind import EVENT
from events.models import DeadLetter, Effect, Event
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class EffectInline(ReadOnlyInline):
    model = Effect
    fields = ("by_rule", "outcome", "why", "notification")
    readonly_fields = ("by_rule", "why", "notification")
    ordering = ("id",)
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).select_related("rule", "digest")
        return rows

    why = columns.column(_("reason"), "reason")

    @admin.display(description=_("rule"))
    def by_rule(self, effect: Effect) -> SafeString:
        return columns.to_row("events.rule", effect.rule_id, effect.rule.name)

    @admin.display(description=_("notification"))
    def notification(self, effect: Effect) -> SafeString:
        return columns.to_row("notifications.notification", effect.told_in, "notification")


class EventRecord(WorkAdmin):
    """The common part of events and dead letters."""

    kind = EVENT
    about = (
        ("type", "source"),
        ("person", "occurred"),
        "trace",
        "topic",
        "data",
    )
    technical = (("key", "hops"), "cause")
    list_select_related = ("user",)
    search_help_text = _("A correlation id, or an idempotency key.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        return rows.none() if key is None else rows.filter(Q(pk=key) | Q(correlation_id=key))

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [*super().get_inlines(request, obj), EffectInline]

    @admin.display(description=_("person"))
    def person(self, event: Event) -> Any:
        return columns.to_row("people.user", event.user_id, event.user.email)

    @admin.display(description=_("trace"))
    def trace(self, event: Event) -> SafeString:
        return columns.to_page("events:trace", event.correlation_id, correlation_id=event.correlation_id)

    occurred = columns.instant_column(_("occurred"), "occurred_at")


@admin.register(Event)
class EventAdmin(EventRecord):
    list_display = ("type", "state_label", "why", "source", "person", "occurred", "tries", "available")
    link_lookups = ("user__id__exact",)
    empty_text = _("No event was published yet.")


@admin.register(DeadLetter)
class DeadEventAdmin(DeadLetterAdmin, EventRecord):
    list_display = ("type", "state_label", "why", "source", "person", "settled", "tries", "replays")
    newest = ("type", "person", "why", "settled")
