"""Notifications: text, recipient and deliveries."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyInline, as_uuid
from common.admin.filters import Period, newest_filter
from notifications.admin import cells
from notifications.models import Channel, Delivery, Notification, sort_channels
from people.admin.user import OwnedAdmin, person_ids


class DeliveryInline(ReadOnlyInline):
    model = Delivery
    fields = ("state_label", "reason", "to_channel", "provider", "tries", "key")
    ordering = ("id",)
    related = ("channel",)

    key = columns.column(
        _("idempotency key"), "pk", lambda pk: columns.to_row("notifications.delivery", pk, columns.key(pk))
    )
    state_label = cells.state_label
    to_channel = columns.column(_("channel"), "channel", cells.channel)


_OUTCOME_COLOURS = {
    Notification.Outcome.OPEN.value: "info",
    Notification.Outcome.FULL.value: "success",
    Notification.Outcome.PARTIAL.value: "warning",
    Notification.Outcome.FAILED.value: "danger",
}
_INDEXED = (Notification.Outcome.PARTIAL, Notification.Outcome.FAILED)
Outcome = newest_filter("outcome", lambda: Notification.Outcome.choices, _INDEXED)
Origin = newest_filter("origin", lambda: Notification.Origin.choices)


@admin.register(Notification)
class NotificationAdmin(OwnedAdmin):
    list_display = ("subject", "outcome_label", "person", "origin", "due", "recorded", "deliveries", "cause")
    list_filter = (Outcome, Origin, Period)
    link_lookups = ("user__id__exact", "origin_id", "batch_id")
    inlines = (DeliveryInline,)
    fieldsets: Any = (
        columns.section(
            None,
            "subject",
            "body",
            ("person", "origin"),
            "outcome_label",
            ("due", "recorded"),
            ("cause", "urgent"),
            "order",
            "trace",
        ),
        columns.section(_("Technical details"), ("id", "batch_id")),
    )
    search_help_text = _("A notification's id, a batch, or the beginning of a person's email address.")
    empty_text = _("No notifications yet. Each reminder that is due records one.")

    def search(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        if (key := as_uuid(term)) is None:
            return rows.filter(user__in=person_ids(term))
        same = Notification.objects.filter(pk=key).union(Notification.objects.filter(batch_id=key))
        return rows.filter(pk__in=[row.pk for row in same])

    outcome_label = columns.badge(_("outcome"), "outcome", _OUTCOME_COLOURS)
    due = columns.instant_column(_("slot"), "slot")
    recorded = columns.instant_column(_("recorded"), "created_at")
    cause = columns.column(_("cause"), "", cells.origin)
    trace = columns.column(_("trace"), "", cells.trace)

    @admin.display(description=_("channels in order"))
    def order(self, notification: Notification) -> SafeString:
        if not notification.channel_order:
            return SafeString(columns.NONE)
        ordered = sort_channels(notification.channel_order, Channel.objects.filter(id__in=notification.channel_order))
        return columns.many(*map(cells.channel, ordered))

    deliveries = columns.column(
        _("deliveries"),
        "pk",
        lambda key: columns.to_list("notifications.delivery", gettext("deliveries"), notification__id__exact=key),
    )
