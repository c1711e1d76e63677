"""Close what browsers still show of a notification once it is answered, on all devices of its person.

Best effort: if a message is lost, the notification stays on the screen until somebody closes it.
"""

from uuid import UUID

from django.db.models import QuerySet

from common.database import encryption
from common.texts import languages
from notifications.models import Delivery
from notifications.models.channel import verified
from notifications.providers.web_push import WebPush
from work.broker.wakes import Wake, publish_after_commit

CLOSE = "notifications.close_shown"
_State = Delivery.State
# What a browser may show: also what is on its way to it.
_SHOWN = (_State.DELIVERED, _State.SENDING, _State.UNKNOWN)


def close_after_commit(notification_id: UUID) -> None:
    """Have a worker `close` it once the current transaction is committed, if a browser may show it."""
    if _deliveries(notification_id).exists():
        publish_after_commit([Wake(CLOSE, notification_id, queue="deliveries")])


def close(notification_id: UUID) -> None:
    """Tell each browser that may show the notification to close it."""
    for delivery in _deliveries(notification_id).select_related("channel__user"):
        try:
            with languages.override(delivery.channel.user.language):
                WebPush().close(delivery.id, delivery.channel.destination())
        except encryption.Unreadable:
            continue


def _deliveries(notification_id: UUID) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        verified("channel__"), notification=notification_id, provider=WebPush.kind, state__in=_SHOWN
    )
