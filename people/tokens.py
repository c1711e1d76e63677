"""Bearer tokens of the HTTP API: made once, shown once, stored as a hash."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _, gettext_lazy

from common.database import postgres
from common.uuid7 import uuid7
from people.models import ApiToken, SecurityEvent, User
from people.sign_in import second_factor, security_log
from people.user_lock import lock_user

SCOPES = {
    "read": gettext_lazy("Read everything that you can see"),
    "schedules": gettext_lazy("Make and change reminders"),
    "channels": gettext_lazy("Add and change channels"),
    "connections": gettext_lazy("Add and change connections"),
    "notifications": gettext_lazy("Send messages, cancel them, and send failed ones again"),
    "queues": gettext_lazy("Pull messages from queues, and acknowledge them"),
    "events": gettext_lazy("Publish events, and make rules and topics"),
    "tokens": gettext_lazy("Revoke tokens"),
}
"""Scopes of a token, with the words for people. A token that has only `read` changes nothing."""

MOST = 20
"""Active tokens of a person, at most."""
_BEGIN = "carillon_"
_SHOWN = 6
# `last_used_at` is written at most so often, so that a busy token is not a hot row.
_USE_WRITTEN = timedelta(minutes=1)


# Every call pays for it: its plan is kept, and Django does not write its text again.
_FIND = f"""
SELECT {postgres.columns(ApiToken, "t")}, {postgres.columns(User, "u")}
  FROM people_apitoken t JOIN people_user u ON u.id = t.user_id
 WHERE t.hashed = %(hashed)s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.is_active
"""  # noqa: S608  # names of columns


class TooMany(Exception):
    """The person has as many tokens as one may have; the message is for them."""


def create(
    user: User, label: str, scopes: Sequence[str], expires_at: datetime | None, token_id: UUID | None = None
) -> tuple[ApiToken, str]:
    """Create a token. Returns its row, and the token itself, which cannot be read again.

    Raises TooMany, and IntegrityError if `token_id`, the id from a form, exists already.
    """
    token = _BEGIN + secrets.token_urlsafe(30)
    row = ApiToken(user=user, id=token_id or uuid7(), label=label, scopes=list(scopes), expires_at=expires_at)
    row.prefix, row.hashed = token[: len(_BEGIN) + _SHOWN], hashed(token)
    with lock_user(user):
        if ApiToken.objects.filter(user=user, revoked_at=None).count() >= MOST:
            raise TooMany(
                _("You have %(most)s tokens, which is the limit. Revoke one that you no longer need.") % {"most": MOST}
            )
        row.save(force_insert=True)
    security_log.record(SecurityEvent.Type.TOKEN_MADE, user, token=row.prefix, scopes=row.scopes)
    return row, token


def find(token: str) -> ApiToken | None:
    """The valid token with its user, or None: unknown, expired, revoked, of an account that is switched off.

    A token of staff who must have a second factor and have none is not valid: it would be a way around it.
    """
    if (row := postgres.execute(_FIND, {"hashed": hashed(token)}).fetchone()) is None:
        return None
    valid = postgres.instance(ApiToken, row)
    valid.user = postgres.instance(User, row[len(ApiToken._meta.concrete_fields) :])
    if settings.SECOND_FACTOR_FOR_STAFF and valid.user.is_staff and not second_factor.is_set_up(valid.user):
        return None
    return valid


def record_use(token: ApiToken, now: datetime) -> None:
    """Write `last_used_at`, at most once a minute."""
    if token.last_used_at is None or now - token.last_used_at > _USE_WRITTEN:
        ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_WRITTEN), id=token.id).update(
            last_used_at=now
        )


def revoke(user: User, token_id: UUID) -> bool:
    """Make the token invalid at once. False if this person has no such token, or it is revoked already."""
    revoked = ApiToken.objects.filter(user=user, id=token_id, revoked_at=None).update(revoked_at=Now()) == 1
    if revoked:
        security_log.record(SecurityEvent.Type.TOKEN_REVOKED, user, token_id=str(token_id))
    return revoked


def valid_tokens(user: User) -> list[ApiToken]:
    """The tokens that are not revoked, newest first; expired ones too, so that their end is seen."""
    return list(ApiToken.objects.filter(user=user, revoked_at=None).order_by(F("id").desc()))


def hashed(token: str) -> str:
    # 240 random bits: a slow hash would add nothing.
    return hashlib.sha256(token.encode()).hexdigest()
