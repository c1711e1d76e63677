"""Deliveries: state, idempotency key and attempts."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import ReadOnlyAdmin, ReadOnlyInline, as_uuid
from common.admin.filters import Period, newest_filter
from notifications import providers
from notifications.admin import cells
from notifications.admin.intervention import InterventionInline
from notifications.models import Attempt, Delivery
from people.admin.user import person_ids


class AttemptInline(ReadOnlyInline):
    model = Attempt
    verbose_name_plural = "attempts, including earlier replays"
    fields = ("replay", "number", "started", "took", "outcome", "reason", "worker")
    readonly_fields = ("started", "took", "reason")
    ordering = ("id",)
    hide_title = True

    started = columns.instant_column("started", "started_at")

    @admin.display(description="took")
    def took(self, attempt: Attempt) -> str:
        if attempt.finished_at is None:
            return columns.NONE
        return f"{(attempt.finished_at - attempt.started_at).total_seconds():.3f}\N{NO-BREAK SPACE}s"


_INDEXED = (Delivery.State.PENDING, Delivery.State.SENDING, Delivery.State.DEAD, Delivery.State.UNKNOWN)
DeliveryState = newest_filter("state", lambda: Delivery.State.choices, _INDEXED)


class DeliveryRecord(ReadOnlyAdmin):
    """The common part of deliveries and dead letters."""

    list_select_related = ("channel", "notification__user")
    inlines = (AttemptInline, InterventionInline)
    fieldsets = (
        (None, {"fields": (("state_label", "reason"), ("said", "person"), ("to_channel", "provider_name"), "cause")}),
        ("Counts", {"fields": (("tries", "replays"), ("released", "wakes"))}),
        ("Instants", {"fields": (("created", "available"), ("settled", "expires"), ("leased", "read"))}),
        ("Idempotency key", {"fields": ("id",)}),
    )
    search_fields = ("id",)
    search_help_text = "An idempotency key, or the beginning of a person's email address."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).select_related("channel", "notification__user")
        return rows

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        if key is not None:
            return rows.filter(pk=key)
        return rows.filter(notification__user__in=person_ids(term))

    state_label = cells.state_label

    key = columns.column("idempotency key", "pk", cells.key)

    @admin.display(description="notification")
    def said(self, delivery: Delivery) -> SafeString:
        return columns.to_row(
            "notifications.notification", delivery.notification_id, cells.short(delivery.notification.subject)
        )

    person = columns.column("person", "notification", cells.person)
    to_channel = columns.column("channel", "channel", cells.channel)
    provider_name = columns.column("provider", "provider", providers.label)
    cause = columns.column("cause", "notification", cells.origin)
    why = columns.column("reason", "reason", cells.short)
    created = columns.instant_column("recorded", "created_at")
    available = columns.instant_column("available", "available_at")
    expires = columns.instant_column("stale after", "expires_at")
    settled = columns.instant_column("settled", "settled_at")
    leased = columns.instant_column("leased until", "lease_until")
    read = columns.instant_column("read", "read_at")


@admin.register(Delivery)
class DeliveryAdmin(DeliveryRecord):
    list_display = ("key", "state_label", "said", "person", "to_channel", "provider_name", "tries", "available", "why")
    list_filter = (DeliveryState, cells.ProviderFilter, Period)
    ordering = ("-id",)
    link_lookups = ("channel__id__exact", "notification__id__exact")
    empty_text = "Nothing has been sent yet. A delivery is recorded for each channel when a reminder fires."
