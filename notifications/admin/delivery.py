"""Deliveries: the state of each, its idempotency key, and every attempt that carried it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from common.admin import columns
from common.admin.base import Record, RecordInline, as_uuid
from common.admin.columns import badge
from common.admin.filters import Newest, Period
from notifications import providers
from notifications.admin import cells
from notifications.admin.intervention import InterventionInline
from notifications.models import Attempt, Delivery
from people.admin import search


class AttemptInline(RecordInline):
    model = Attempt
    verbose_name_plural = "attempts, with those before earlier replays"
    fields = ("replay", "number", "started", "took", "outcome", "reason", "worker")
    readonly_fields = ("started", "took", "reason")
    ordering = ("id",)
    hide_title = True

    @admin.display(description="started")
    def started(self, attempt: Attempt) -> SafeString:
        return columns.instant(attempt.started_at)

    @admin.display(description="took")
    def took(self, attempt: Attempt) -> str:
        if attempt.finished_at is None:
            return columns.NONE
        return f"{(attempt.finished_at - attempt.started_at).total_seconds():.3f}\N{NO-BREAK SPACE}s"


class DeliveryState(Newest):
    title = "state"
    parameter_name = "state"
    indexed = (Delivery.State.PENDING, Delivery.State.SENDING, Delivery.State.DEAD, Delivery.State.UNKNOWN)

    def options(self) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in Delivery.State]


class DeliveryProvider(Newest):
    title = "provider"
    parameter_name = "provider"

    def options(self) -> list[tuple[str, str]]:
        return [(provider.kind, provider.label) for provider in providers.all()]


class DeliveryRecord(Record):
    """What the lists of deliveries and of dead letters show alike."""

    list_select_related = ("channel", "notification__user")
    inlines = (AttemptInline, InterventionInline)
    fieldsets = (
        (None, {"fields": (("state_label", "reason"), ("said", "person"), ("to_channel", "provider_name"), "cause")}),
        ("Counts", {"fields": (("tries", "replays"), ("released", "wakes"))}),
        ("Instants", {"fields": (("created", "available"), ("settled", "expires"), ("leased", "read"))}),
        ("Idempotency key", {"fields": ("id",)}),
    )
    readonly_fields = (
        "state_label",
        "said",
        "person",
        "to_channel",
        "provider_name",
        "cause",
        "created",
        "available",
        "expires",
        "settled",
        "leased",
        "read",
    )
    search_fields = ("id",)
    search_help_text = "An idempotency key, or the beginning of a person's e-mail address."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).select_related("channel", "notification__user")
        return rows

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        if key is not None:
            return rows.filter(pk=key)
        return rows.filter(notification__user__in=search.people(term))

    @badge("state", cells.STATE_COLOURS)
    def state_label(self, delivery: Delivery) -> str:
        return delivery.state

    @admin.display(description="idempotency key")
    def key(self, delivery: Delivery) -> SafeString:
        return cells.key(delivery.pk)

    @admin.display(description="notification")
    def said(self, delivery: Delivery) -> SafeString:
        return columns.to_row(
            "notifications.notification", delivery.notification_id, cells.short(delivery.notification.subject)
        )

    @admin.display(description="person")
    def person(self, delivery: Delivery) -> SafeString:
        return cells.person(delivery.notification)

    @admin.display(description="channel")
    def to_channel(self, delivery: Delivery) -> SafeString:
        return cells.channel(delivery.channel)

    @admin.display(description="provider")
    def provider_name(self, delivery: Delivery) -> str:
        return providers.label(delivery.provider)

    @admin.display(description="cause")
    def cause(self, delivery: Delivery) -> SafeString:
        return cells.cause(delivery.notification)

    @admin.display(description="reason")
    def why(self, delivery: Delivery) -> SafeString:
        return cells.short(delivery.reason) if delivery.reason else SafeString(columns.NONE)

    @admin.display(description="recorded")
    def created(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.created_at)

    @admin.display(description="available")
    def available(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.available_at)

    @admin.display(description="stale after")
    def expires(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.expires_at)

    @admin.display(description="settled")
    def settled(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.settled_at)

    @admin.display(description="leased until")
    def leased(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.lease_until)

    @admin.display(description="read")
    def read(self, delivery: Delivery) -> SafeString:
        return columns.instant(delivery.read_at)


@admin.register(Delivery)
class DeliveryAdmin(DeliveryRecord):
    list_display = ("key", "state_label", "said", "person", "to_channel", "provider_name", "tries", "available", "why")
    list_filter = (DeliveryState, DeliveryProvider, Period)
    ordering = ("-id",)
    arrivals = ("channel__id__exact", "notification__id__exact")
    nothing = "Nothing has been sent yet. A delivery is recorded for each channel when a reminder fires."
