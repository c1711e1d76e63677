"""The operators' daily email: dead letters that wait for them, queues that no worker serves, and old backups."""

import logging
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from email.errors import MessageError
from functools import partial
from typing import Any

from django.conf import settings
from django.core import mail
from django.urls import reverse
from django.utils.translation import gettext as _

from common.redis import served_queues
from common.texts import languages
from common.texts.mail import Mail
from common.texts.numbers import grouped
from people.models import User
from work.backup import newest
from work.dead_letters import Group, Which, groups
from work.kinds import KINDS
from work.models import Summary

log = logging.getLogger(__name__)

_MOST_CAUSES = 20


def send(now: datetime) -> int:
    """Email each member of staff the dead letters that wait (and how many are new), unserved queues, an old backup.

    Returns how many got one; nobody does when nothing waits. Each gets one email a day (UTC), however often this is
    called. An email that may have gone is not sent again: tomorrow's lists everything that still waits. Raises OSError
    when the mail server refused one; the next call writes to those who got none.
    """
    waiting = [group for kind in KINDS.values() for group in groups(Which(kind))]
    unserved = served_queues.unserved()
    if not waiting and not unserved and not newest.problem():
        return 0
    new = sum(Which(kind, since=now - timedelta(days=1)).rows().count() for kind in KINDS.values())
    written, refused = 0, None
    with mail.get_connection() as post:
        for reader in User.objects.filter(is_staff=True, is_active=True).exclude(email="").order_by("pk"):
            try:
                written += _send(post, reader, now.date(), partial(_words, waiting, unserved, new))
            except OSError as error:
                refused = error
    if refused is not None:
        raise refused
    return written


def _send(post: Any, reader: User, day: date, words: Callable[[], tuple[str, str]]) -> bool:
    """False where it was sent already, and for an address that no header can hold: it stops nobody else's mail."""
    summary, fresh = Summary.objects.get_or_create(day=day, reader=reader)
    if not fresh:
        return False
    with languages.override(reader.language):
        subject, body = words()
    try:
        post.send_messages([Mail(subject, body, reader.email)])
    except (ValueError, MessageError) as error:
        log.error("No summary to account %s: %s", reader.pk, type(error).__name__)
        return False
    except OSError:
        if not getattr(post, "in_doubt", True):
            summary.delete()
        raise
    return True


def _words(groups: Sequence[Group], unserved: list[str], new: int) -> tuple[str, str]:
    waiting = sum(group.count for group in groups)
    lines = [
        _("%(count)s since %(first)s UTC, %(handler)s: %(reason)s")
        % {
            "count": grouped(group.count),
            "first": f"{group.first:%Y-%m-%d %H:%M}",
            "handler": group.handler,
            "reason": group.example.reason,
        }
        for group in sorted(groups, key=lambda group: -group.count)[:_MOST_CAUSES]
    ]
    if len(groups) > _MOST_CAUSES:
        lines.append(_("… and %(count)s causes more") % {"count": len(groups) - _MOST_CAUSES})
    for pages in sorted({group.kind.dead_letters for group in groups}):
        page = reverse(f"{pages}_causes", urlconf="config.urls")  # a worker's own URLs leave out the admin
        lines.append(_("Replay or discard them: %(url)s") % {"url": f"{settings.BASE_URL}{page}"})
    subject = _("[Carillon] Dead letters: %(count)s wait, %(new)s of them new") % {
        "count": grouped(waiting),
        "new": grouped(new),
    }
    if problem := newest.problem():
        subject, lines = _("[Carillon] The newest backup is old"), [problem, *lines]
    if unserved:
        subject, lines = _("[Carillon] Messages wait for a worker"), [served_queues.warning(unserved), *lines]
    return subject, "\n\n".join(lines)
