"""Why a slot did not fire, or fired late: codes with parameters, and their texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from schedules.beat.heartbeat import Outage
from schedules.models import Occurrence
from schedules.parts import words

# A slot that is late within this time after an outage is late because of it: beats fire thousands of slots a second.
_CATCHING_UP = timedelta(minutes=10)


class CauseCode(TextChoices):
    """Causes that no occurrence records; the others are `Occurrence.Reason`."""

    PAUSED = "paused", _("Paused")
    SNOOZED = "snoozed", _("Snoozed")
    DELETED = "deleted", _("Deleted")
    EXCLUDED = "excluded", _("On a date that is left out")
    NO_BEAT = "no-beat", _("Carillon was not running")
    CATCHING_UP = "catching-up", _("Carillon was catching up: it was not running")
    UNKNOWN = (
        "unknown",
        _("No cause is on record: Carillon was running all the time, so it or the database may have been busy"),
    )
    ARCHIVED = "archived", _("Archived")


# "From …", "to …" and "by …" follow where they are known.
_TEXTS = dict([*Occurrence.Reason.choices, *CauseCode.choices])
_TEXTS |= {Occurrence.Reason.BY_PERSON: _("Skipped"), Occurrence.Reason.MANUAL: _("Run outside of the timetable")}


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
        return str(_TEXTS[self.code])


def of_lateness(slot: datetime, recorded: datetime, outages: Sequence[Outage]) -> Cause:
    """Why a slot was recorded as late as it was, as far as the heartbeats tell."""
    for outage in outages:
        if outage.began <= slot and (outage.ended is None or slot < outage.ended):
            return Cause(CauseCode.NO_BEAT, outage.began, outage.ended)
    for outage in outages:
        if outage.ended is not None and outage.ended <= slot and recorded - outage.ended <= _CATCHING_UP:
            return Cause(CauseCode.CATCHING_UP, outage.began, outage.ended)
    return Cause(CauseCode.UNKNOWN)
