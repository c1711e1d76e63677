"""The Celery tasks of people."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from common.database.postgres import delete_in_chunks
from common.uuid7 import first_of
from people.account import deletion
from people.models import ApiToken, Invitation, SecurityEvent, Session
from people.sign_in.security_log import KEPT_DAYS


@shared_task(name="people.delete_accounts", ignore_result=True, store_errors_even_if_ignored=True)
def delete_accounts() -> int:
    """Returns how many accounts are gone."""
    return deletion.delete_requested()


@shared_task(name="people.prune")
def prune() -> int:
    """Delete sessions and invitations that have expired, old events of security, and tokens revoked as long ago.

    Returns how many.
    """
    now = timezone.now()
    retained_since = now - timedelta(days=KEPT_DAYS)
    old = (
        Session.objects.filter(expire_date__lt=now),
        SecurityEvent.objects.filter(pk__lt=first_of(retained_since)).order_by("pk"),
        ApiToken.objects.filter(revoked_at__lt=retained_since),
        Invitation.objects.filter(expires_at__lt=now - timedelta(days=1)),  # the list of its team shows it for a day
    )
    return sum(map(delete_in_chunks, old))
