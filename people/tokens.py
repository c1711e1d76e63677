"""Bearer tokens of the HTTP API: made on the settings page or by another token, shown once, stored as a hash."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _, gettext_lazy

from common.database import postgres
from common.database.encryption import hashed
from common.database.rows import Rows
from common.database.sums import Sums
from common.forms.not_possible import NotPossible
from common.times.dates import rfc3339
from common.uuid7 import uuid7
from people.models import ApiToken, Membership, Role, SecurityEvent, User
from people.sign_in import second_factor, security_log
from people.user_lock import lock_user

SCOPES = {
    "read": gettext_lazy("Read everything that you can see"),
    "schedules": gettext_lazy("Make and change reminders and watches"),
    "channels": gettext_lazy("Add and change channels"),
    "connections": gettext_lazy("Add and change connections"),
    "notifications": gettext_lazy("Send messages, cancel them, and send failed ones again"),
    "queues": gettext_lazy("Pull messages from queues, and acknowledge them"),
    "locks": gettext_lazy("Take locks, and release them"),
    "counters": gettext_lazy("Add to counters, and delete them"),
    "events": gettext_lazy("Publish events, make rules and topics, act on runs and incidents"),
    "settings": gettext_lazy("Change your name, time zone, language and quiet hours"),
    "tokens": gettext_lazy("Revoke tokens"),
    "make-tokens": gettext_lazy("Make other tokens, with fewer rights, which cannot make any"),
}
"""Scopes of a token, with the words for people. A token that has only `read` changes nothing."""
MAKE = "make-tokens"
GIVEN = [scope for scope in SCOPES if scope != MAKE]
"""The scopes that a token may have which another token makes."""

MOST = 20
"""Active tokens of a person, at most."""
_BEGIN = "carillon_"
_SHOWN = 6
# `last_used_at` is written at most so often, so that a busy token is not a hot row.
_USE_WRITTEN = timedelta(minutes=1)


# Every call pays for it: its plan is kept, and Django does not write its text again.
_FIND = f"""
SELECT {postgres.columns(ApiToken, "t")}, {postgres.columns(User, "u")}, m.role
  FROM people_apitoken t JOIN people_user u ON u.id = t.user_id
  LEFT JOIN people_membership m ON m.team_id = t.user_id AND m.person_id = t.member_id
 WHERE t.hashed = %(hashed)s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.is_active
   AND (m.role IS NOT NULL OR NOT u.is_team)
"""  # noqa: S608  # names of columns


_CALLS = Rows("g", id=UUID, calls=int)
# Locked in the order of their ids, as other processes do.
_ADD_CALLS = f"""
WITH locked AS MATERIALIZED (
    SELECT t.id, g.calls FROM {_CALLS.sql} JOIN people_apitoken t ON t.id = g.id ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE people_apitoken t SET calls = t.calls + locked.calls FROM locked WHERE t.id = locked.id
"""  # noqa: S608 - constants only


class Revoked(Exception):
    """The token was revoked while its call was under way."""


class BeyondRights(Exception):
    """A token may not give what it does not have itself. `field` is what is too much."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def create(
    user: User,
    label: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
    token_id: UUID | None = None,
    made_by_id: UUID | None = None,
) -> tuple[ApiToken, str]:
    """Create a token. Returns its row, and the token itself, which cannot be read again.

    Raises NotPossible, and IntegrityError if `token_id`, the id from a form, exists already.
    """
    row = ApiToken(
        user=user, id=token_id or uuid7(), label=label, scopes=[*dict.fromkeys(scopes)], expires_at=expires_at
    )
    row.made_by_id, token = made_by_id, _new_secret(row)
    row.member = user.actor if user.is_team else None
    with lock_user(user):
        if ApiToken.objects.filter(user=user, revoked_at=None).count() >= MOST:
            text = _("You have %(most)s tokens, which is the limit. Revoke one that you no longer need.")
            raise NotPossible(text % {"most": MOST})
        row.save(force_insert=True)
    security_log.record(SecurityEvent.Type.TOKEN_MADE, user, token=row.prefix, scopes=row.scopes)
    return row, token


def create_by(maker: ApiToken, label: str, scopes: Sequence[str], expires_at: datetime | None) -> tuple[ApiToken, str]:
    """As `create`, by a token: with rights of its own, not after its end, and revoked with it.

    Without `expires_at` it ends with `maker`. Raises BeyondRights, Revoked and NotPossible.
    """
    may_give = [scope for scope in maker.scopes if scope != MAKE]
    if not set(scopes) <= set(may_give):
        raise BeyondRights("scopes", f"This token may give: {', '.join(may_give) or 'none'}.")
    if maker.expires_at is not None and expires_at is not None and expires_at > maker.expires_at:
        raise BeyondRights("expires_at", f"This token ends at {rfc3339(maker.expires_at)}. Choose no later time.")
    with lock_user(maker.user):
        if not ApiToken.objects.select_for_update(no_key=True).filter(id=maker.id, revoked_at=None):
            raise Revoked
        return create(maker.user, label, scopes, expires_at or maker.expires_at, made_by_id=maker.id)


def rotate(maker: ApiToken, token_id: UUID) -> tuple[ApiToken, str] | None:
    """Replace the secret of a token that `maker` has made; the one before is not valid any more. None if it has not."""
    with transaction.atomic():
        made = ApiToken.objects.select_for_update(no_key=True).filter(made_by_id=maker.id, revoked_at=None)
        if (row := made.filter(id=token_id).first()) is None:
            return None
        token = _new_secret(row)
        row.save(update_fields=["prefix", "hashed"])
    security_log.record(SecurityEvent.Type.TOKEN_ROTATED, maker.user, token=row.prefix)
    return row, token


def _new_secret(row: ApiToken) -> str:
    token = _BEGIN + secrets.token_urlsafe(30)
    row.prefix, row.hashed = token[: len(_BEGIN) + _SHOWN], hashed(token)
    return token


def find(token: str) -> ApiToken | None:
    """The valid token with its user, or None: unknown, expired, revoked, of an account that is switched off.

    A token of staff who must have a second factor and have none is not valid: it would be a way around it. A token
    of a team is valid as long as its member is one, and may do what their role may.
    """
    if (row := postgres.execute(_FIND, {"hashed": hashed(token)}).fetchone()) is None:
        return None
    valid = postgres.instance(ApiToken, row)
    valid.user = postgres.instance(User, row[len(ApiToken._meta.concrete_fields) : -1])
    if valid.user.is_team and valid.member_id is not None:
        valid.user.acting = Membership(team=valid.user, person_id=valid.member_id, role=row[-1])
        of_role = {Role.OWNER: SCOPES, Role.MEMBER: SCOPES.keys() - {"settings"}}.get(Role(row[-1]), ["read"])
        valid.scopes = [scope for scope in valid.scopes if scope in of_role]
    maker = valid.user.actor
    if settings.SECOND_FACTOR_FOR_STAFF and maker.is_staff and not second_factor.is_set_up(maker):
        return None
    return valid


def record_use(token: ApiToken, now: datetime) -> None:
    """Write `last_used_at`, at most once a minute."""
    if token.last_used_at is None or now - token.last_used_at > _USE_WRITTEN:
        ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_WRITTEN), id=token.id).update(
            last_used_at=now
        )


_calls = Sums[tuple[UUID]](lambda sums: postgres.change(_ADD_CALLS, _CALLS.values(sums)))


def count_call(token: ApiToken) -> None:
    """Add one to `calls`, some seconds later."""
    _calls.add((token.id,), 1)


def revoke(user: User, token_id: UUID) -> bool:
    """Make the token invalid at once, with those that it has made.

    False if this person has no such token, or it is revoked already.
    """
    valid = ApiToken.objects.filter(user=user, revoked_at=None)
    with transaction.atomic():
        # Waits for a token that it is making; see `create_by`.
        revoked = valid.filter(id=token_id).update(revoked_at=Now()) == 1
        if revoked:
            valid.filter(made_by_id=token_id).update(revoked_at=Now())
    if revoked:
        security_log.record(SecurityEvent.Type.TOKEN_REVOKED, user, token_id=str(token_id))
    return revoked


def valid_tokens(user: User) -> list[ApiToken]:
    """The tokens that are not revoked, newest first; expired ones too, so that their end is seen."""
    return list(ApiToken.objects.select_related("member").filter(user=user, revoked_at=None).order_by(F("id").desc()))
