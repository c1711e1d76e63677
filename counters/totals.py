"""Add to counters, and read them. Each addition goes to one of 32 rows at random, and a value is their sum.

What is added in each minute and on each day, for charts, is summed in memory, and written some seconds later.
"""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.core.validators import RegexValidator
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from common.database import postgres
from common.database.rows import Rows
from common.database.sums import Sums
from common.forms.not_possible import NotPossible
from counters.models import Rollup, Shard
from people.models import User

SHARDS = 32
MOST = 1_000
"""Counters of a person."""
LARGEST = 1_000_000_000
"""The largest amount of one addition or subtraction."""

NAME = "[-a-zA-Z0-9_]+"
check_name = RegexValidator(
    rf"^{NAME}\Z", gettext_lazy("Use only letters from a to z, digits, “-” and “_”, such as nightly-builds."), "name"
)

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
_RETENTION = {MINUTE: timedelta(hours=2), DAY: timedelta(days=366)}

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


def add(user: User, name: str, by: int) -> int:
    """Add `by`, and return the value, which may lack concurrent additions. Raises NotPossible."""
    values = {"user": user.pk, "name": name, "number": random.randrange(SHARDS), "by": by}  # noqa: S311  # no secret
    row = postgres.execute(_ADD, values).fetchone()
    if row is None:
        raise NotPossible(_("You have %(most)s counters, the limit. Delete one first.") % {"most": MOST})
    transaction.on_commit(partial(_rollups.add, (user.pk, name), by))
    return int(row.value)


def values(user: User, name: str | None = None) -> dict[str, int]:
    """The values of the person's counters by name, or of this one."""
    shards = Shard.objects.for_user(user) if name is None else Shard.objects.for_user(user).filter(name=name)
    return {one["name"]: int(one["sum"]) for one in shards.values("name").annotate(sum=Sum("value")).order_by("name")}


def delete(user: User, name: str) -> bool:
    """Forget the counter: it begins at 0 again. False if there is none."""
    with transaction.atomic():
        Rollup.objects.filter(user=user, name=name).delete()
        return Shard.objects.for_user(user).filter(name=name).delete()[0] > 0


def history(user: User, name: str, span: timedelta, count: int) -> dict[datetime, int]:
    """The sums of each of the last `count` minutes or days (UTC), by its start, the present one last."""
    seconds = int(span.total_seconds())
    last = datetime.fromtimestamp(timezone.now().timestamp() // seconds * seconds, UTC)
    rows = Rollup.objects.filter(user=user, name=name, span=seconds, start__gt=last - count * span)
    return {last - ago * span: 0 for ago in reversed(range(count))} | dict(rows.values_list("start", "value"))


def forget() -> int:
    """Delete what charts show no more. Returns how many rows were deleted."""
    ends = {span: timezone.now() - length for span, length in _RETENTION.items()}
    old = (Rollup.objects.filter(span=int(span.total_seconds()), start__lt=end) for span, end in ends.items())
    return sum(map(postgres.delete_in_chunks, old))


_SUMS = Rows("g", user_id=int, name=str, value=int)
# A counter that was deleted meanwhile gets no rows.
_ADD_ROLLUPS = f"""
INSERT INTO counters_rollup AS rollup (user_id, name, span, start, value)
SELECT g.user_id, g.name, span, to_timestamp(floor(extract(epoch FROM now()) / span) * span), g.value
  FROM {_SUMS.sql}, unnest(%(spans)s::int[]) AS span
 WHERE EXISTS (SELECT FROM counters_shard s WHERE s.user_id = g.user_id AND s.name = g.name)
 ORDER BY 1, 2, 3
    ON CONFLICT (user_id, name, span, start) DO UPDATE SET value = rollup.value + excluded.value
"""  # noqa: S608 - constants only


def _write(sums: Iterable[Any]) -> None:
    spans = [int(span.total_seconds()) for span in _RETENTION]
    postgres.change(_ADD_ROLLUPS, _SUMS.values(sums) | {"spans": spans})


_rollups = Sums[tuple[int, str]](_write)
