"""Cells and filters that several admin pages share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from common.admin import columns
from common.admin.columns import badge
from common.admin.filters import newest_filter
from notifications import providers
from notifications.models import Channel, Delivery, Notification

_STATE = Delivery.State
STATE_COLOURS = {
    _STATE.PENDING.value: "info",
    _STATE.SENDING.value: "info",
    _STATE.DELIVERED.value: "success",
    _STATE.DEAD.value: "danger",
    _STATE.UNKNOWN.value: "warning",
}

ProviderFilter = newest_filter("provider", lambda: [(provider.kind, provider.label) for provider in providers.all()])


state_label = badge("state", STATE_COLOURS)(columns.column("state", "state"))


def short(text: str) -> SafeString:
    """A shortened text, with the full text as a tooltip; a dash if it is empty."""
    if not text:
        return SafeString(columns.NONE)
    return format_html('<span title="{}">{}</span>', text, Truncator(text).chars(70))


def key(value: UUID) -> SafeString:
    return format_html('<span class="whitespace-nowrap font-mono text-xs">{}</span>', value)


def channel(row: Channel) -> SafeString:
    return columns.to_row("notifications.channel", row.pk, row.label)


def person(row: Any) -> SafeString:
    """The person of a row that has a `user`."""
    return columns.to_row("people.user", row.user_id, row.user.email)


def origin(notification: Notification) -> SafeString:
    """Links to the occurrence and the schedule that a notification came from."""
    if notification.origin != Notification.Origin.SCHEDULE:
        return SafeString(columns.NONE)
    return columns.many(
        columns.to_row("schedules.occurrence", notification.batch_id, "occurrence"),
        columns.to_row("schedules.schedule", notification.origin_id, "schedule"),
    )
