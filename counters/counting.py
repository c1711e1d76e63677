"""Add to counters, and read them. Each addition goes to one of 32 rows at random, and a value is their sum."""

import random

from django.db.models import Sum

from common.database import postgres
from counters.models import Shard
from people.models import User

SHARDS = 32
MOST = 1_000
"""Counters of a person."""
LARGEST = 1_000_000_000
"""What one addition may add or subtract."""

# The names are counted only for a new one.
_ADD = f"""
INSERT INTO counters_shard AS shard (user_id, name, number, value)
SELECT %(user)s, %(name)s::text, %(number)s, %(by)s
 WHERE EXISTS (SELECT FROM counters_shard WHERE user_id = %(user)s AND name = %(name)s::text)
    OR (SELECT count(*) FROM (SELECT DISTINCT name FROM counters_shard WHERE user_id = %(user)s LIMIT {MOST}) names)
       < {MOST}
    ON CONFLICT (user_id, name, number) DO UPDATE SET value = shard.value + excluded.value
RETURNING value + coalesce((SELECT sum(other.value) FROM counters_shard other
                             WHERE other.user_id = %(user)s AND other.name = %(name)s::text
                               AND other.number <> %(number)s), 0) AS value
"""  # noqa: S608  # a constant


class TooMany(Exception):
    """The person has as many counters as one may have."""


def add(user: User, name: str, by: int) -> int:
    """Add `by`, and return the value; what others add at the same moment may be missing in it. Raises TooMany."""
    values = {"user": user.pk, "name": name, "number": random.randrange(SHARDS), "by": by}  # noqa: S311  # no secret
    row = postgres.execute(_ADD, values).fetchone()
    if row is None:
        raise TooMany
    return int(row.value)


def values(user: User, name: str | None = None) -> dict[str, int]:
    """The values of the person's counters by name, or of this one."""
    shards = Shard.objects.for_user(user) if name is None else Shard.objects.for_user(user).filter(name=name)
    sums = shards.values("name").annotate(sum=Sum("value")).order_by("name")
    return {one["name"]: int(one["sum"]) for one in sums}


def delete(user: User, name: str) -> bool:
    """Forget the counter: it begins at 0 again. False if there is none."""
    return Shard.objects.for_user(user).filter(name=name).delete()[0] > 0
