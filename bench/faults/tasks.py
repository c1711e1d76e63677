"""The kind of the entries, and its task. An entry may be run again at will: its effect commits with its settlement.

One of the code REFUSED becomes a dead letter, and is done when it is replayed.
"""

from __future__ import annotations

from functools import partial

from bench.faults.models import Effect, Entry, EntryAttempt
from work.answers import Answer, Done, Rejected
from work.kinds import Claim, Kind
from work.reasons import Reason
from work.retry import Policy
from work.tasks import task_of

REFUSED = "refused"


class EntryKind(Kind[Claim]):
    task = "faults.enter"
    queue = "deliveries"
    model, attempts = Entry, EntryAttempt
    handler = "code"
    person, language, joins = "NULL::bigint", "''", ""  # nobody's

    def run(self, claim: Claim) -> Answer:
        if claim.handler == REFUSED and not claim.replays:
            return Rejected(Reason("until-replayed", said="It is done once it is replayed."))
        return Done(effect=partial(Effect.objects.create, entry_id=claim.id))

    def policy(self, handler: str) -> Policy:
        return Policy(tries=99, waits=(0.3, 1.0))

    def may_repeat(self, handler: str, on_unknown: str) -> bool:
        return True


ENTRY = EntryKind()
enter = task_of(ENTRY)
