"""The actions of people on work: cancel, do again, discard.

What the triggers of a change write to is locked first, in the order of its ids, so that no two transactions deadlock.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from common.database.postgres import column, query
from work.broker.wakes import EARLY
from work.models import DEAD_LETTERS, Work
from work.reasons import Reason


@transaction.atomic
def cancel(model: type[Work], ids: Iterable[UUID], reason: Reason) -> int:
    """pending -> cancelled: a person does not want it any more. What is being done is not touched."""
    return _locked(model, ids).filter(state="pending").update(**cancelled(reason))


_REPLAY = """
UPDATE {} d
   SET state = 'pending', available_at = now() + (chosen.place - 1) * %(gap)s * interval '1 second',
       wake_at = CASE WHEN wake_at IS NOT NULL
                      THEN now() + greatest((chosen.place - 1) * %(gap)s::float - %(early)s, 0) * interval '1 second'
                 END,
       wakes = 0, tries = 0, released = 0, replays = replays + 1,
       reason_code = '', reason_params = '{{}}', settled_at = NULL,
       expires_at = CASE WHEN expires_at > now() THEN expires_at END
  FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS chosen(id, place)
 WHERE d.id = chosen.id AND d.state IN ('dead', 'unknown')
RETURNING d.id
"""


@transaction.atomic
def replay(model: type[Work], ids: Iterable[UUID], gap: float = 0.0) -> list[UUID]:
    """dead, unknown -> pending: a person has it done again, with the same idempotency key. Returns those changed.

    The first is due at once, each after it `gap` seconds later, so that nothing has to stay alive to keep the rate.
    One that is not stale yet can still expire; one that is stale was chosen to be done.
    """
    ids = list(ids)
    if not ids:
        return []
    _locked(model, ids)
    return [
        row.id for row in query(_REPLAY.format(model._meta.db_table), {"ids": column(ids), "gap": gap, "early": EARLY})
    ]


@transaction.atomic
def discard(model: type[Work], ids: Iterable[UUID], reason: Reason) -> int:
    """dead, unknown -> cancelled: a person has decided that it need not be done."""
    return _locked(model, ids).filter(state__in=DEAD_LETTERS).update(**cancelled(reason))


def cancelled(reason: Reason) -> dict[str, Any]:
    return {"state": "cancelled", "reason_code": reason.code, "reason_params": reason.params, "settled_at": Now()}


def _locked(model: type[Work], ids: Iterable[UUID]) -> QuerySet[Any]:
    """The rows, once what their triggers write to is locked."""
    chosen = model._default_manager.filter(id__in=list(ids))
    lock_parents(model, chosen)
    return chosen


def lock_parents(model: type[Work], rows: QuerySet[Any]) -> None:
    """Lock what the triggers of a change of `rows` write to."""
    for key in model.locks:
        parents = model._meta.get_field(key).related_model._default_manager  # type: ignore[union-attr]
        list(parents.filter(id__in=rows.values(key)).order_by("id").select_for_update(no_key=True).values_list("id"))
