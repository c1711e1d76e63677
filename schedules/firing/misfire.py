"""Decide for each due slot of a schedule whether it fires, is late, or was missed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from schedules.models import Occurrence, Schedule

# At most so many slots of a schedule fire at once: the newest missed ones, and the oldest of those within their grace.
MOST_SENT = 100


@dataclass(frozen=True, slots=True)
class Decision:
    """Fire or skip one slot, and why (empty if it fires in time)."""

    slot: datetime
    fire: bool
    reason: Occurrence.Reason = Occurrence.Reason.NONE


def decide(
    slots: Sequence[datetime], now: datetime, policy: Schedule.Misfire, grace: timedelta, *, one_off: bool
) -> list[Decision]:
    """A decision for each of `slots` (ascending, all due at `now`), by the schedule's misfire policy.

    A slot is missed if it is older than `grace`. One-time reminders always fire. With `latest`, a missed slot fires
    only if no newer one is due.
    """
    late = [slot for slot in slots if now - slot > grace]
    if one_off:
        sent = set(late)
    elif policy == Schedule.Misfire.ALL:
        sent = set(late[-MOST_SENT:])
    elif policy == Schedule.Misfire.LATEST and len(late) == len(slots):
        sent = set(late[-1:])
    else:
        sent = set()
    reasons = Occurrence.Reason
    missed = [Decision(slot, slot in sent, reasons.LATE if slot in sent else reasons.MISFIRE) for slot in late]
    return missed + [Decision(slot, True) for slot in slots[len(late) :]]
