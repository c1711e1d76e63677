"""Problems of the work and of its engines, for operators: dead letters, late work, queues, broker, Redis, disks.

Each check returns what is wrong now, or None while that cannot be known. It reads indexes, whatever waits or died.
"""

import shutil
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import psycopg.errors
from django.conf import settings
from django.db import OperationalError, transaction
from django.urls import reverse
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from common.database.postgres import column, query
from common.redis import client, served_queues
from common.texts.numbers import grouped
from work.backup import newest
from work.broker import backlog
from work.kinds import KINDS, Kind, of_all
from work.operators import health
from work.reasons import Reason

UNSERVED = 45
"""Seconds without a worker after which operators are told that a queue is not served."""
_MANY, _VERY_LATE = 10, 300
_NEARLY, _FULL = 0.9, 0.97  # of the memory of Redis
_LEAST_FREE = 1 << 30  # bytes of a disk, or a twentieth of a small one
_MOST_CAUSES = 500
_COUNTED = 1_000


class Words(NamedTuple):
    title: str
    summary: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """`key` is the same while it lasts; what stands before its first ":" is the name of the check. `words` writes it in
    the active language; None for one that is only known to last."""

    key: str
    words: Callable[[], Words] | None = None

    @property
    def check(self) -> str:
        return self.key.partition(":")[0]


def page(name: str, *args: object) -> str:
    """The address of a page of the admin, which a worker's own URLs leave out."""
    return settings.BASE_URL + reverse(name, args=args, urlconf="config.urls")


# From one cause to the next by the index of causes: a step costs the same however many died of it.
_CAUSES = """
SELECT '$name' AS kind, causes.cause FROM (
    WITH RECURSIVE found AS (
        (SELECT cause FROM $work WHERE state IN ('dead', 'unknown') ORDER BY cause LIMIT 1)
         UNION ALL
        SELECT (SELECT d.cause FROM $work d
                 WHERE d.state IN ('dead', 'unknown') AND d.cause > found.cause ORDER BY d.cause LIMIT 1)
          FROM found WHERE found.cause IS NOT NULL
    ) SELECT cause FROM found WHERE cause IS NOT NULL LIMIT %(most)s
) AS causes
"""
_NEWEST = """
SELECT '$name' AS kind, newest.*, (
       SELECT count(*) FROM (SELECT FROM $work d WHERE d.cause = newest.cause AND d.state IN ('dead', 'unknown')
                              LIMIT %(counted)s) AS counted) AS count
  FROM unnest(%(causes)s::text[]) AS wanted(cause), LATERAL (
       SELECT d.id, d.cause, $handler AS handler, $source AS source, $queue_of AS queue, d.tries,
              d.reason_code, d.reason_params::text AS reason_params, d.settled_at
         FROM $work d WHERE d.cause = wanted.cause AND d.state IN ('dead', 'unknown')
        ORDER BY d.settled_at DESC LIMIT 1
) AS newest WHERE newest.settled_at > now() - interval '1 day'
"""


def dead_letters(open_keys: Collection[str]) -> list[Problem]:
    """One problem for each cause in `open_keys`, or of which something died in the past day."""
    causes = {f"dead:{row.kind}:{row.cause}": row.cause for row in query(of_all(_CAUSES), {"most": _MOST_CAUSES})}
    new = {cause for key, cause in causes.items() if key not in open_keys}
    rows = query(of_all(_NEWEST), {"causes": column(new), "counted": _COUNTED}) if new else []
    problems = {key: Problem(key) for key in causes if key in open_keys}
    for row in rows:
        problems.setdefault(key := f"dead:{row.kind}:{row.cause}", Problem(key, partial(_dead_letter, row)))
    return list(problems.values())


def _dead_letter(row: Any) -> Words:
    kind = KINDS[row.kind]
    names = kind.model._meta
    reason = str(Reason.read(row.reason_code, row.reason_params)) or _("No reason")
    facts = {
        kind.handler_name.capitalize(): row.handler,
        _("Source"): row.source,
        _("Queue"): row.queue or kind.queue,
        _("Tries"): row.tries,
        _("Id"): row.id,
        _("Waiting"): grouped(row.count, _COUNTED),
    }
    return Words(
        _("Dead letter (%(kind)s): %(reason)s") % {"kind": names.verbose_name, "reason": reason},
        "\n".join(f"{name}: {value}" for name, value in facts.items() if value != ""),
        page(f"{kind.dead_letters}_cause", row.cause),
    )


# By the index of what should have a message; bulk work may take hours.
_LATE = """
SELECT '$name' AS kind, count(*) AS count,
       coalesce(extract(epoch FROM now() - min(available_at)), 0)::float8 AS oldest FROM (
       SELECT d.available_at FROM $work d
        WHERE d.state = 'pending' AND d.is_bulk = false AND d.wake_at <= now() + interval '6 minutes'
        ORDER BY d.wake_at LIMIT %(counted)s
) AS waiting WHERE available_at < now() - %(late)s * interval '1 second'
"""


def late_work() -> list[Problem]:
    rows = query(of_all(_LATE), {"counted": _COUNTED, "late": health.LATE})
    return [
        late(row.kind, row.count, row.oldest, _COUNTED) for row in rows if row.count >= _MANY or row.oldest > _VERY_LATE
    ]


def late(kind: str, count: int, oldest: float, most: int) -> Problem:
    """The problem of `count` rows that are late, the `oldest` for so many seconds. Counting stopped at `most`."""
    return Problem(f"late:{kind}", partial(_late, KINDS[kind], count, oldest, most))


def _late(kind: Kind[Any], count: int, oldest: float, most: int) -> Words:
    return Words(
        _("Work waits: %(kind)s") % {"kind": kind.model._meta.verbose_name_plural},
        _(
            "No worker has taken %(count)s for over a minute, the oldest for %(seconds)s s. Queue: %(queue)s. "
            "Start more workers."
        )
        % {"count": grouped(count, most), "seconds": grouped(round(oldest)), "queue": kind.queue},
        f"{page(f'{kind.rows}_changelist')}?state=pending",
    )


def queues() -> list[Problem] | None:
    """One problem for each queue that no worker serves."""
    seen = served_queues.last_seen()
    if not seen:
        return None
    missing = [queue for queue, ago in seen.items() if ago is None or ago > UNSERVED]
    return [Problem(f"queue:{queue}", partial(_unserved, queue)) for queue in missing]


def _unserved(queue: str) -> Words:
    values = {"queue": queue}
    summary = _("Its messages wait. Start a worker with -Q %(queue)s.") % values
    return Words(_("No worker serves the queue %(queue)s") % values, summary, page("admin:index"))


def broker() -> list[Problem]:
    """A broker or Redis that takes no messages; a Redis that is nearly full."""
    if backlog.problem():
        return [Problem("broker:away", _broker)]
    try:
        memory: Any = client.client(settings.REDIS_URL).info("memory")
    except RedisError:
        return []
    most, used = memory.get("maxmemory", 0), memory.get("used_memory", 0)
    if not most or used < _NEARLY * most:
        return []
    return [Problem("broker:full" if used > _FULL * most else "redis:memory", partial(_memory, used, most))]


def _broker() -> Words:
    return Words(_("The broker takes no messages"), backlog.problem(), page("admin:index"))


def _memory(used: int, most: int) -> Words:
    summary = _("It uses %(used)s of %(most)s MiB. When it is full, it takes no messages. Raise its maxmemory.")
    return Words(_("The memory of Redis is nearly full"), summary % {"used": used >> 20, "most": most >> 20})


def disks(open_keys: Collection[str]) -> list[Problem]:
    """The disk of this machine's `var`, and that of the database. Of other machines, those in `open_keys` stay."""
    problems = [] if _has_room() else [Problem(f"disk:{socket.gethostname()}", _disk)]
    ours = {f"disk:{socket.gethostname()}", DATABASE_FULL.key}
    problems += [Problem(key) for key in open_keys if key.startswith("disk:") and key not in ours]
    try:
        with transaction.atomic():
            query(_SPILL, None)
            transaction.set_rollback(True)  # only the small memory
    except OperationalError as error:
        if not is_full(error):
            raise
        problems.append(DATABASE_FULL)
    return problems


def backups() -> list[Problem]:
    return [Problem("backup:late", _backup)] if newest.is_late() else []


def _backup() -> Words:
    return Words(_("Backups do not succeed"), newest.problem(), page("admin:index"))


def _has_room() -> bool:
    try:
        disk = shutil.disk_usage(settings.VAR_DIR)
    except OSError:
        return True  # it keeps nothing there
    return disk.free > min(_LEAST_FREE, disk.total // 20)


def _disk() -> Words:
    summary = _("Less than a twentieth, or less than 1 GiB, is free for %(folder)s. Make room.")
    return Words(
        _("The disk of %(host)s is nearly full") % {"host": socket.gethostname()},
        summary % {"folder": settings.VAR_DIR},
    )


# More than fits into memory: half a megabyte of a temporary file, without a table, and without WAL.
_SPILL = """
SELECT count(*) FROM (SELECT set_config('work_mem', '64kB', true) AS value) AS small,
       LATERAL generate_series(1, 40000 + 0 * length(small.value)) AS row
"""


def is_full(error: BaseException) -> bool:
    """Whether the database could not write, for want of room."""
    return isinstance(error.__cause__, psycopg.errors.DiskFull)


def _database_full() -> Words:
    summary = _("PostgreSQL cannot write. Requests that it cannot record are refused. Make room on its disk.")
    return Words(_("The disk of the database is full"), summary)


def _database_away() -> Words:
    summary = _("Nothing is recorded or sent until it does. Read the log of PostgreSQL.")
    return Words(_("The database does not answer"), summary)


DATABASE_FULL, DATABASE_AWAY = Problem("disk:database", _database_full), Problem("database:away", _database_away)
