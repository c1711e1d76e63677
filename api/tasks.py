"""The Celery task of the API."""

from celery import shared_task

from api.protocol import idempotency
from counters import totals
from locks import leases


@shared_task(name="api.forget_answers")
def forget_answers() -> int:
    """And old locks, and the old numbers of counters' charts. Returns how many rows were deleted."""
    return idempotency.forget() + leases.forget() + totals.forget()
