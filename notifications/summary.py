"""The operators' daily mail about dead letters that wait for them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.core import mail
from django.urls import reverse

from notifications import deadletters
from notifications.deadletters import Which
from people.models import User

_MOST_CAUSES = 20


def send(now: datetime) -> int:
    """Mail each member of staff with an address what waits, and what has died in the 24 hours before `now`.

    Returns how many were written to; nobody is when nothing waits. Each gets a mail of their own.
    """
    groups = deadletters.groups()
    if not groups:
        return 0
    waiting = sum(group.count for group in groups)
    new = Which(since=now - timedelta(days=1)).rows().count()
    lines = [
        f"{group.count:,} since {group.first:%Y-%m-%d %H:%M} UTC, {group.example.provider}: {group.example.reason}"
        for group in sorted(groups, key=lambda group: -group.count)[:_MOST_CAUSES]
    ]
    if len(groups) > _MOST_CAUSES:
        lines.append(f"… and {len(groups) - _MOST_CAUSES} causes more")
    subject = f"[Carillon] Dead letters: {waiting:,} wait, {new:,} of them new"
    page = f"{settings.BASE_URL}{reverse('admin:notifications_deadletter_causes')}"
    body = "\n\n".join([*lines, f"Replay or discard them: {page}"])
    staff = User.objects.filter(is_staff=True, is_active=True).exclude(email="").values_list("email", flat=True)
    mails = [mail.EmailMessage(subject, body, settings.DEFAULT_FROM_EMAIL, [address]) for address in staff]
    return mail.get_connection().send_messages(mails) or 0
