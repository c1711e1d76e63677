"""Close what browsers still show of a notification once it is answered, on all devices of its person.

Best effort: if a message is lost, the notification stays on the screen until somebody closes it.
"""

import logging
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import QuerySet

from common.database import encryption
from common.texts import languages
from notifications.models import Delivery
from notifications.models.channel import verified
from notifications.providers.web_push import WebPush
from work.broker import publisher

log = logging.getLogger(__name__)

CLOSE = "notifications.close_shown"
_State = Delivery.State
# What a browser may show: also what is on its way to it.
_SHOWN = (_State.DELIVERED, _State.SENDING, _State.UNKNOWN)


def close_after_commit(notification_id: UUID) -> None:
    """Have a worker `close` it once the current transaction is committed, if a browser may show it."""
    if not _deliveries(notification_id).exists():
        return

    def publish() -> None:
        try:
            publisher.publish(current_app, CLOSE, [(notification_id, 0.0)], "deliveries")
        except publisher.Unreachable as error:
            log.warning("The broker cannot be reached; browsers still show an answered notification: %s", error)

    transaction.on_commit(publish, robust=True)


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
