"""The operators' daily email about dead letters that wait for them, and queues that no worker serves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.errors import MessageError

from django.conf import settings
from django.core import mail
from django.urls import reverse

from common import served_queues
from people.models import User
from work.dead_letters import Group, Which, groups
from work.kinds import KINDS
from work.models import Summary

log = logging.getLogger(__name__)

_MOST_CAUSES = 20


def send(now: datetime) -> int:
    """Email each member of staff the dead letters that wait, how many are of the last 24 hours, and unserved queues.

    Returns how many got one; nobody does when nothing waits. Each gets one email a day (UTC), however often this is
    called. An email that may have gone is not sent again: tomorrow's lists everything that still waits. Raises OSError
    when the mail server refused one; the next call writes to those who got none.
    """
    found = [group for kind in KINDS.values() for group in groups(Which(kind))]
    unserved = served_queues.unserved()
    if not found and not unserved:
        return 0
    subject, body = _words(found, unserved, now)
    written, refused = 0, None
    post = mail.get_connection()
    post.open()
    try:
        for reader in User.objects.filter(is_staff=True, is_active=True).exclude(email="").order_by("pk"):
            summary, fresh = Summary.objects.get_or_create(day=now.date(), reader=reader)
            if not fresh:
                continue
            try:
                post.send_messages([mail.EmailMessage(subject, body, settings.DEFAULT_FROM_EMAIL, [reader.email])])
            except (ValueError, MessageError) as error:  # an address that no header can hold stops nobody else's mail
                log.error("No summary to account %s: %s", reader.pk, type(error).__name__)
            except OSError as error:
                refused = error
                if not getattr(post, "in_doubt", True):
                    summary.delete()
            else:
                written += 1
    finally:
        post.close()
    if refused is not None:
        raise refused
    return written


def _words(found: Sequence[Group], unserved: list[str], now: datetime) -> tuple[str, str]:
    waiting = sum(group.count for group in found)
    new = sum(Which(kind, since=now - timedelta(days=1)).rows().count() for kind in KINDS.values())
    lines = [
        f"{group.count:,} since {group.first:%Y-%m-%d %H:%M} UTC, {group.handler}: {group.example.reason}"
        for group in sorted(found, key=lambda group: -group.count)[:_MOST_CAUSES]
    ]
    if len(found) > _MOST_CAUSES:
        lines.append(f"… and {len(found) - _MOST_CAUSES} causes more")
    for pages in sorted({group.kind.dead_letters for group in found}):
        lines.append(f"Replay or discard them: {settings.BASE_URL}{reverse(f'{pages}_causes')}")
    subject = f"[Carillon] Dead letters: {waiting:,} wait, {new:,} of them new"
    if unserved:
        subject, lines = "[Carillon] Messages wait for a worker", [served_queues.warning(unserved), *lines]
    return subject, "\n\n".join(lines)
