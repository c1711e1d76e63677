"""Cells and filters that several admin pages share."""

from typing import Any
from uuid import UUID

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from common.admin import columns
from common.admin.filters import newest_filter
from notifications import providers
from notifications.models import Channel, Notification
from notifications.models.delivery import WORDS
from work.admin import rows

ProviderFilter = newest_filter("provider", lambda: [(provider.kind, provider.label) for provider in providers.all()])
state_label = rows.state_label(WORDS)


def channel(row: Channel) -> SafeString:
    return columns.to_row("notifications.channel", row.pk, row.label)


def to_notification(key: UUID | None) -> SafeString:
    return columns.to_row("notifications.notification", key, "notification")


def schedule(row: Any) -> SafeString:
    """A link to a schedule; a dash for None."""
    if row is None:
        return SafeString(columns.NONE)
    return columns.to_row("schedules.schedule", row.pk, columns.short(row.title))


def channels(row: Any) -> SafeString:
    """Those of a reminder or a rule, in their order."""
    return columns.many(*map(channel, row.ordered_channels()))


def order(row: Any) -> str:
    """How the channels of a reminder or a rule are tried."""
    if not row.channel_order:
        return _("all at once")
    if not row.escalate_after:
        return _("in order, until one arrives")
    text = _("in order, until one arrives; the next one also if nobody acknowledges within %(minutes)s min")
    return text % {"minutes": row.escalate_after}


def origin(notification: Notification) -> SafeString:
    """Links to the occurrence and the schedule that a notification came from."""
    if notification.origin != Notification.Origin.SCHEDULE:
        return SafeString(columns.NONE)
    return columns.many(
        columns.to_row("schedules.occurrence", notification.batch_id, _("occurrence")),
        columns.to_row("schedules.schedule", notification.origin_id, _("schedule")),
    )


def trace(row: Any) -> SafeString:
    """A link to the whole chain that it belongs to."""
    return columns.to_page("events:trace", row.chain, correlation_id=row.chain)
