"""The Celery task of the API."""

from celery import shared_task

from api.protocol import idempotency


@shared_task(name="api.forget_answers")
def forget_answers() -> int:
    """Returns how many answers were deleted."""
    return idempotency.forget()
