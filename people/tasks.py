"""The Celery task of people."""

from celery import shared_task

from people import teams, tokens
from people.account import deletion
from people.sign_in import security_log, sessions


@shared_task(name="people.delete_accounts", ignore_result=True, store_errors_even_if_ignored=True)
def delete_accounts() -> int:
    """Returns how many accounts are gone."""
    return deletion.delete_requested()


@shared_task(name="people.prune")
def prune() -> int:
    """Delete sessions and invitations that have expired, old events of security, and tokens revoked as long ago.

    Returns how many.
    """
    return sessions.delete_expired() + security_log.delete_old() + tokens.delete_revoked() + teams.delete_expired()
