"""The Celery task of the API."""

from celery import shared_task

from api.protocol import idempotency
from locks import holding


@shared_task(name="api.forget_answers")
def forget_answers() -> int:
    """And locks that nobody takes any more. Returns how many rows were deleted."""
    return idempotency.forget() + holding.forget()
