"""Take, renew and release named locks. The row is the lock, and the database's clock the only one.

A holder that is stalled for longer than its time does not know that somebody else has the lock. So each lease has a
number, the fence: what the lock protects should refuse a lower one than it has seen.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from common.database import postgres
from common.database.encryption import hashed
from common.forms.not_possible import NotPossible
from common.uuid7 import uuid7
from locks.models import Lock
from people.models import User

SHORTEST, LONGEST = 1, 86_400
"""Seconds for which a lock may be held without being renewed."""
MOST = 1_000
"""Names of a person."""
RETENTION_DAYS = 30
"""A lock is forgotten, so many days after its last lease ended."""

# `clock_timestamp()`, for the wait for the row can be long. The fence begins at the time in ms, and one name is not
# taken a thousand times a second for years: so it grows also where the row before was forgotten.
_ACQUIRE = postgres.impatient(f"""
INSERT INTO locks_lock AS current (id, user_id, name, holder, hashed, fence, acquired_at, expires_at)
SELECT %(id)s, %(user)s, %(name)s::text, %(holder)s, %(hashed)s,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, clock_timestamp(), clock_timestamp() + %(ttl)s
 WHERE (SELECT count(*) FROM (SELECT 1 FROM locks_lock WHERE user_id = %(user)s LIMIT {MOST}) names) < {MOST}
    OR EXISTS (SELECT FROM locks_lock WHERE user_id = %(user)s AND name = %(name)s::text)
    ON CONFLICT (user_id, name) DO UPDATE
   SET holder = excluded.holder, hashed = excluded.hashed, acquired_at = clock_timestamp(),
       fence = greatest(current.fence + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
       expires_at = clock_timestamp() + %(ttl)s
 WHERE current.expires_at <= clock_timestamp()
RETURNING fence
""")  # noqa: S608  # a constant
_CURRENT = """
SELECT holder, greatest(0, ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000))::bigint AS wait_ms
  FROM locks_lock WHERE user_id = %(user)s AND name = %(name)s::text
"""
_EXTEND = postgres.impatient("""
UPDATE locks_lock SET expires_at = clock_timestamp() + %(ttl)s
 WHERE user_id = %(user)s AND name = %(name)s::text AND hashed = %(hashed)s AND expires_at > clock_timestamp()
RETURNING fence
""")


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock that the caller has. `token` renews and releases it."""

    token: str
    fence: int


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody else has it, for `wait_ms` unless they renew or release it."""

    holder: str
    wait_ms: int


def acquire(user: User, name: str, ttl: float, holder: str = "") -> Lease | Taken:
    """Take the lock for `ttl` seconds, if nobody has it. Raises NotPossible."""
    token = secrets.token_urlsafe(24)
    about = {"user": user.pk, "name": name}
    new = {"id": uuid7(), "holder": holder, "hashed": hashed(token), "ttl": timedelta(seconds=ttl)}
    fence = postgres.execute(_ACQUIRE, about | new).fetchone()[0]
    if fence is not None:
        return Lease(token, int(fence))
    if row := postgres.execute(_CURRENT, about).fetchone():
        return Taken(*row)
    raise NotPossible(
        f"You have {MOST:,} names of locks, which is the limit. Use fewer: a name is forgotten "
        f"{RETENTION_DAYS} days after it was last held."
    )


def renew(user: User, name: str, token: str, ttl: float) -> int | None:
    """Hold it for `ttl` seconds from now. Returns the fence; None if the token does not hold it, or not any more."""
    values = {"user": user.pk, "name": name, "hashed": hashed(token), "ttl": timedelta(seconds=ttl)}
    return postgres.execute(_EXTEND, values).fetchone()[0]


def release(user: User, name: str, token: str) -> bool:
    """Let others take it at once. False if the token does not hold it, or not any more."""
    return renew(user, name, token, 0) is not None


def forget() -> int:
    """Delete locks that nobody has taken for long. Returns how many."""
    until = timezone.now() - timedelta(days=RETENTION_DAYS)
    return postgres.delete_in_chunks(Lock.objects.filter(expires_at__lt=until))
