"""Notifications: what was said, to whom, and how it went out."""

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
from notifications.admin import cells
from notifications.models import Channel, Delivery, Notification
from people.admin import search


class DeliveryInline(RecordInline):
    model = Delivery
    fields = ("key", "state_label", "to_channel", "provider", "tries", "reason")
    readonly_fields = ("key", "state_label", "to_channel", "reason")
    ordering = ("id",)
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).select_related("channel")
        return rows

    @admin.display(description="idempotency key")
    def key(self, delivery: Delivery) -> SafeString:
        return columns.to_row("notifications.delivery", delivery.pk, cells.key(delivery.pk))

    @badge("state", cells.STATE_COLOURS)
    def state_label(self, delivery: Delivery) -> str:
        return delivery.state

    @admin.display(description="channel")
    def to_channel(self, delivery: Delivery) -> SafeString:
        return cells.channel(delivery.channel)


class Origin(Newest):
    title = "origin"
    parameter_name = "origin"

    def options(self) -> list[tuple[str, str]]:
        return [(origin.value, str(origin.label)) for origin in Notification.Origin]


class Outcome(Newest):
    title = "outcome"
    parameter_name = "outcome"
    indexed = (Notification.Outcome.PARTIAL, Notification.Outcome.FAILED)

    def options(self) -> list[tuple[str, str]]:
        return [(outcome.value, str(outcome.label)) for outcome in Notification.Outcome]


@admin.register(Notification)
class NotificationAdmin(Record):
    list_display = ("subject", "outcome_label", "person", "origin", "due", "recorded", "deliveries", "cause")
    list_select_related = ("user",)
    list_filter = (Outcome, Origin, Period)
    ordering = ("-id",)
    arrivals = ("user__id__exact", "origin_id", "batch_id")
    inlines = (DeliveryInline,)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "subject",
                    "body",
                    ("person", "origin"),
                    "outcome_label",
                    ("due", "recorded"),
                    ("cause", "urgent"),
                    "order",
                    "batch_id",
                )
            },
        ),
    )
    readonly_fields = ("outcome_label", "person", "cause", "due", "recorded", "order", "batch_id")
    search_fields = ("id",)
    search_help_text = "A notification's id, a batch, or the beginning of a person's e-mail address."
    nothing = "Nothing has been said yet. A notification is recorded when a reminder fires."

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        key = as_uuid(term)
        if key is None:
            return rows.filter(user__in=search.people(term))
        same = Notification.objects.filter(pk=key).union(Notification.objects.filter(batch_id=key))
        return rows.filter(pk__in=[row.pk for row in same])

    @badge("outcome", cells.OUTCOME_COLOURS)
    def outcome_label(self, notification: Notification) -> str:
        return notification.outcome

    @admin.display(description="person")
    def person(self, notification: Notification) -> SafeString:
        return cells.person(notification)

    @admin.display(description="cause")
    def cause(self, notification: Notification) -> SafeString:
        return cells.cause(notification)

    @admin.display(description="slot")
    def due(self, notification: Notification) -> SafeString:
        return columns.instant(notification.slot)

    @admin.display(description="channels one after the other")
    def order(self, notification: Notification) -> SafeString:
        if not notification.channel_order:
            return SafeString(columns.NONE)
        found = Channel.objects.in_bulk(notification.channel_order)
        return columns.many(*(cells.channel(found[key]) for key in notification.channel_order if key in found))

    @admin.display(description="recorded")
    def recorded(self, notification: Notification) -> SafeString:
        return columns.instant(notification.created_at)

    @admin.display(description="deliveries")
    def deliveries(self, notification: Notification) -> SafeString:
        return columns.to_list("notifications.delivery", "deliveries", notification__id__exact=notification.pk)
