"""Why a slot did not fire, or fired late: codes with parameters. `schedules.parts.words` makes sentences of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from schedules.beat.heartbeat import Outage
from schedules.parts import words

# A slot that is late within this time after an outage is late because of it: beats fire thousands of slots a second.
_CATCHING_UP = timedelta(minutes=10)


class CauseCode(StrEnum):
    """Causes that no occurrence records; the others are `Occurrence.Reason`."""

    PAUSED = "paused"
    SNOOZED = "snoozed"
    DELETED = "deleted"
    EXCLUDED = "excluded"
    NO_BEAT = "no-beat"
    CATCHING_UP = "catching-up"
    UNKNOWN = "unknown"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: from when, until when (None with `began`: it lasts), by whom. Instants are aware.

    `days` are the first and the last of a holiday, where they are known; `is_coming`: of a slot that is to come.
    """

    code: str
    began: datetime | None = None
    ended: datetime | None = None
    by: str = ""
    days: tuple[date, date] | None = None
    is_coming: bool = False

    @property
    def text(self) -> str:
        if self.days is not None:
            return words.holiday(*self.days, is_past=not self.is_coming)
        return str(words.CAUSES[self.code])


def of_lateness(slot: datetime, recorded: datetime, outages: Sequence[Outage]) -> Cause:
    """Why a slot was recorded as late as it was, as far as the heartbeats tell."""
    for outage in outages:
        if outage.began <= slot and (outage.ended is None or slot < outage.ended):
            return Cause(CauseCode.NO_BEAT, outage.began, outage.ended)
    for outage in outages:
        if outage.ended is not None and outage.ended <= slot and recorded - outage.ended <= _CATCHING_UP:
            return Cause(CauseCode.CATCHING_UP, outage.began, outage.ended)
    return Cause(CauseCode.UNKNOWN)
