"""Template tags for announcements, on pages of apps below this one."""

from typing import Any

from django import template

from jobs.batches import withdrawal
from jobs.models import Batch
from notifications.models import Notification

register = template.Library()


@register.inclusion_tag("jobs/_announcement.html", takes_context=True)
def announcement(context: dict[str, Any], notification: Notification) -> dict[str, Any]:
    """Links for a reader (stop, resume) and for the author (reminder, batch)."""
    if notification.origin != Notification.Origin.ANNOUNCEMENT or notification.origin_id is None:
        return {}
    return {
        "notification": notification,
        "has_left": withdrawal.has_left(notification.user_id, notification.origin_id),
        "is_owner": Batch.objects.filter(id=notification.batch_id, user=notification.user_id).exists(),
        "csrf_token": context.get("csrf_token"),
    }
