"""Delete what has ended, with all that belongs to it, in chunks of a transaction each: a task may die at any line."""

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from common.database.postgres import persist, query
from common.uuid7 import first_of
from work.kinds import Kind

_CHUNK = 5_000
# A task may take 70; the next run goes on.
_LONGEST = 50.0  # seconds
_LONGEST_PAUSE = 1.0  # seconds
_FIRST_ID = UUID(int=0)

# By the ids, which grow with time.
_OLD = """
SELECT d.{key} AS id FROM {table} d WHERE d.{key} > %(after)s AND d.{key} < %(before)s AND {where}
"""
_PRUNE = f"""
WITH old AS MATERIALIZED ({_OLD} ORDER BY d.{{key}} LIMIT %(limit)s FOR UPDATE OF d SKIP LOCKED){{also}}
DELETE FROM {{table}} d USING old WHERE d.{{key}} = old.id RETURNING old.id
"""  # noqa: S608 - constants only
_COUNT = f"SELECT count(*) FROM ({_OLD}) old"  # noqa: S608 - constants only
# Dead letters stay until a person has decided.
_ENDED = "d.settled_at < %(since)s AND d.state IN ('$done', 'cancelled', 'expired') AND NOT EXISTS ({needed})"
_ATTEMPTS = ", attempts AS (DELETE FROM $attempt a USING old WHERE a.$key = old.id)"


@dataclass(frozen=True, slots=True)
class Retention:
    """Rows `d` of `table`, with UUIDv7 as `key`, for which the SQL `where` holds `%(since)s`.

    `also` has CTEs that delete what belongs to the rows `old`. `setting` names the days for which they are kept, 0 for
    ever; `name` is what `manage.py prune` calls them.
    """

    name: str
    setting: str
    table: str
    where: str
    also: str = ""
    key: str = "id"
    all: ClassVar[dict[str, "Retention"]] = {}

    def __post_init__(self) -> None:
        self.all[self.name] = self

    @classmethod
    def work(cls, kind: Kind[Any], name: str, setting: str, needed: str, also: str = "") -> "Retention":
        """Settled work of a kind. Work `d` for which the SQL `needed` finds a row stays."""
        where = kind.sql(_ENDED.format(needed=needed))
        return cls(name, setting, kind.sql("$work"), where, kind.sql(_ATTEMPTS) + also)

    @property
    def days(self) -> int:
        return int(getattr(settings, self.setting))

    def prune(self) -> int:
        """Delete for at most 50 seconds, a third of them pauses; return how many rows of the table."""
        statement, after = self._sql(_PRUNE), _FIRST_ID
        give_up_at, total = time.monotonic() + _LONGEST, 0
        while self.days:
            begin = time.monotonic()
            values = self._limits(after) | {"limit": _CHUNK}
            deleted = [row.id for row in persist(partial(query, statement, values))]
            total += len(deleted)
            if len(deleted) < _CHUNK or time.monotonic() > give_up_at:
                break
            after = max(deleted)
            time.sleep(min((time.monotonic() - begin) / 2, _LONGEST_PAUSE))
        return total

    def count(self) -> int:
        """How many rows of the table `prune` would delete, run again and again."""
        if not self.days:
            return 0
        [row] = query(self._sql(_COUNT), self._limits(_FIRST_ID))
        return int(row.count)

    def _sql(self, statement: str) -> str:
        return statement.format(table=self.table, key=self.key, where=self.where, also=self.also)

    def _limits(self, after: UUID) -> dict[str, Any]:
        since = timezone.now() - timedelta(days=self.days)
        return {"after": after, "before": first_of(since), "since": since}
