"""How many reminders a person may have, so that nobody fills the house of everybody."""

from __future__ import annotations

from django.conf import settings

from people.models import User
from schedules.models import Schedule


def refusal(user: User) -> str:
    """Why this person gets no further reminder, in words for them; empty while they may have one."""
    most: int = settings.MOST_SCHEDULES
    if Schedule.objects.filter(user=user, deleted_at=None).count() < most:
        return ""
    return f"You have {most} reminders, as many as one person may have here. Delete one that you no longer need."
