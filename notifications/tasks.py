"""The Celery tasks. Their arguments are ids only, because they are logged."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from notifications.changes import feed, status_webhooks
from notifications.channels import owner_notices
from notifications.deliveries import fallback, retention, shown
from notifications.deliveries.kind import DELIVERY
from work import periodic
from work.tasks import task_of

deliver = task_of(DELIVERY)


@shared_task(name="notifications.tell_owners", ignore_result=True, store_errors_even_if_ignored=True)
def tell_owners() -> int:
    return owner_notices.tell_owners(timezone.now())


@shared_task(name=shown.CLOSE, ignore_result=True)
def close_shown(notification_id: str) -> None:
    shown.close(UUID(notification_id))


@shared_task(name="notifications.send_changes", ignore_result=True)
def send_changes() -> None:
    status_webhooks.send_changes()


periodic.NEEDED["notifications.send_changes"] = lambda: feed.waiting("status")


@shared_task(name="notifications.prune_history", ignore_result=True)
def prune_history() -> int:
    return retention.NOTIFICATIONS.prune()


@shared_task(name="notifications.prune_changes")
def prune_changes() -> int:
    fallback.cancel_left()  # an hour late is soon enough: nobody waits for these
    return feed.prune()
