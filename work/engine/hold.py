"""The hold: nothing is claimed and no slot fires until an operator has decided, as after a restore.

The operator decides for the work that was recorded before the hold, or is of slots before it: it is sent, cancelled, or
becomes dead letters, since nobody knows whether it was sent after the backup. What is requested meanwhile waits.
"""

import logging
import time
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.database import postgres
from common.uuid7 import first_of
from work.engine import manual, recovery
from work.engine.decision import Decision
from work.engine.settlement import settlement, write
from work.kinds import KINDS, Kind, Lease
from work.models import Hold
from work.models.hold import OFF
from work.reasons import Reason, WorkCode

log = logging.getLogger(__name__)

_BATCH = 2_000
MOST = 100_000


class Choice(models.TextChoices):
    SEND = "send", _("Send what is open")
    SKIP = "skip", _("Skip what is open")
    KEEP = "keep", _("Keep what is open as dead letters")


def is_on() -> bool:
    [row] = postgres.query(f"SELECT {OFF} AS is_off", None)
    return not row.is_off


def since() -> datetime:
    """When the hold was set; now, where its row is missing."""
    row = Hold.objects.first()
    return row.changed_at if row else timezone.now()


def begin(restored_to: datetime | None = None) -> None:
    """`restored_to`: the time of the data, where they were restored now."""
    values: dict[str, Any] = {"is_on": True, "changed_at": Now(), "decision": ""}
    if restored_to is not None:
        values |= {"restored_at": Now(), "restored_to": restored_to}
    Hold.objects.update_or_create(id=1, defaults=values)
    log.warning("On hold: nothing is sent until it is released")


def release(choice: Choice, seconds: float) -> bool:
    """Decide for the open work, then release. False if it took longer than `seconds`, or some is still in work."""
    until, end = since(), time.monotonic() + seconds
    if choice is not Choice.SEND:
        decide = {Choice.SKIP: _skip, Choice.KEEP: _keep}[choice]
        for kind in KINDS.values():
            while sum(recovery.recover(kind, _BATCH).values()) or decide(kind, until):
                if time.monotonic() > end:
                    return False
        if any(_open(kind, until, 1) for kind in KINDS.values()):
            return False
    Hold.objects.update_or_create(id=1, defaults={"is_on": False, "changed_at": Now(), "decision": choice.value})
    log.warning("Released: %s", choice.value)
    return True


def open_work(until: datetime) -> dict[str, int]:
    """How much is open of each kind, by its name; at most `MOST`."""
    return {name: count for name, kind in KINDS.items() if (count := _open(kind, until, MOST))}


_BEFORE = "(d.created_at <= %(until)s OR d.id < %(first)s)"
_COUNT = f"""
SELECT count(*) AS count FROM (
       SELECT FROM $work d WHERE d.state IN ('pending', '$working') AND {_BEFORE} LIMIT %(limit)s) AS counted
"""  # noqa: S608 - constants only
_PENDING = f"""
SELECT d.id FROM $work d $locked WHERE d.state = 'pending' AND {_BEFORE}
 LIMIT %(limit)s FOR NO KEY UPDATE OF $lock SKIP LOCKED
"""  # noqa: S608 - constants only
# Only work in hand can end as unknown.
_LEASE = f"""
WITH chosen AS MATERIALIZED ({_PENDING})
UPDATE $work d
   SET state = '$working', lease_token = gen_random_uuid(), lease_until = now()
  FROM chosen WHERE d.id = chosen.id
RETURNING $lease
"""  # noqa: S608 - constants only


def _values(until: datetime, limit: int) -> dict[str, Any]:
    return {"until": until, "first": first_of(until), "limit": limit}


def _open(kind: Kind[Any], until: datetime, limit: int) -> int:
    return int(postgres.query(kind.sql(_COUNT), _values(until, limit))[0].count)


@transaction.atomic
def _skip(kind: Kind[Any], until: datetime) -> int:
    rows = postgres.query(kind.sql(_PENDING), _values(until, _BATCH))
    return manual.cancel(kind.model, [row.id for row in rows], Reason(WorkCode.SKIPPED))


@transaction.atomic
def _keep(kind: Kind[Any], until: datetime) -> int:
    leases = postgres.query(kind.sql(_LEASE), _values(until, _BATCH), Lease)
    decision = Decision("unknown", "lost", Reason(WorkCode.RESTORED))
    return write(kind, [settlement(kind, lease, decision) for lease in leases]) if leases else 0
