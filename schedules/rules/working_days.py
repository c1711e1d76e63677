"""A rule of any kind on the working days of a country only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Self

from django.utils.translation import gettext as _

from common.times import public_holidays
from common.times.civil_time import begin_of
from schedules.rules import civil
from schedules.rules.invalid import InvalidRule, Work, all_of
from schedules.rules.once import Once
from schedules.rules.rule import CivilRule, ClockChange, Rule

PARAMETERS = ("off_days", "public_holidays")
_DAY = timedelta(days=1)
# A slot moves by so many days at most: no country has more days off in a row.
_FURTHEST = 31
# After so many days off in a row, a rule has no other days.
_IN_A_ROW = 50
# Units for a day off, beside what the rule itself spends.
_OFF_DAY = 20


def fits(kind: type[Rule]) -> bool:
    """Whether rules of this class may be on working days only."""
    return issubclass(kind, CivilRule) and kind is not Once


@dataclass(frozen=True)
class WorkingDays(Rule):
    """The slots of `rule`. One on a weekend or a public holiday of `country` ("DE-BY"; "": none) is left out.

    With `moves`, it comes on the next working day, at the same time.
    """

    rule: Rule
    moves: bool
    country: str

    @classmethod
    def of(cls, read: Callable[[], Rule], data: Mapping[str, Any]) -> Self:
        """The rule that `read` returns, on working days. Raises InvalidRule with all errors of both."""
        values = all_of(rule=read, moves=lambda: _moves(data), country=lambda: _country(data))
        return cls(values["rule"].timezone, **values)

    @property
    def kind(self) -> str:  # type: ignore[override]  # that of its rule
        return self.rule.kind

    @classmethod
    def read(cls, data: Mapping[str, Any], timezone: str) -> Self:
        raise NotImplementedError("rules.parse makes one of a rule of any kind")

    def data(self) -> dict[str, Any]:
        added = {"off_days": "next" if self.moves else "skip", "public_holidays": self.country}
        return self.rule.data() | {name: value for name, value in added.items() if value}

    def next_after(self, instant: datetime, work: Work | None = None) -> datetime | None:
        work = work or Work()
        return self._moved_after(instant, work) if self.moves else self._worked_after(instant, work)

    def _worked_after(self, instant: datetime, work: Work) -> datetime | None:
        for _number in range(_IN_A_ROW):
            slot = self.rule.next_after(instant, work)
            if slot is None or self._works(day := civil.local(self.zone, slot).date()):
                return slot
            work.spend(_OFF_DAY, "off_days")
            # Skip the whole day at once: it can hold 1,440 slots.
            instant = max(slot, begin_of(day + _DAY, self.zone) - civil.TICK)
        raise InvalidRule("off_days", "only_off_days")

    def _moved_after(self, instant: datetime, work: Work) -> datetime | None:
        earliest: datetime | None = None
        slot = self.rule.next_after(self._since(instant), work)
        while slot is not None and (earliest is None or slot < earliest):
            moved = self._moved(slot)
            if moved > instant and (earliest is None or moved < earliest):
                earliest = moved
            work.spend(_OFF_DAY, "off_days")
            slot = self.rule.next_after(slot, work)
        return earliest

    def _since(self, instant: datetime) -> datetime:
        """From when on a slot may move behind `instant`: the first of the days off that end with it."""
        today = civil.local(self.zone, instant).date()
        first, before = today, today - _DAY
        while not self._works(before) and (today - before).days < _FURTHEST:
            first, before = before, before - _DAY
        if first == today and self._works(today):
            return instant
        return min(instant, begin_of(first, self.zone) - civil.TICK)

    def _moved(self, slot: datetime) -> datetime:
        shown = civil.local(self.zone, slot)
        for number in range(_FURTHEST):
            day = shown.date() + number * _DAY
            if self._works(day):
                return civil.first_instant(self.zone, datetime.combine(day, shown.time())) if number else slot
        return slot

    def left_out(self, first: date, last: date) -> set[date]:
        """The public holidays on which nothing comes, without weekends."""
        return set() if self.moves or not self.country else set(public_holidays.between(self.country, first, last))

    def _works(self, day: date) -> bool:
        return public_holidays.is_working_day(self.country, day)

    def between(self, begin: datetime, end: datetime) -> list[datetime] | None:
        if self.moves or (slots := self.rule.between(begin, end)) is None:
            return None
        return [slot for slot in slots if self._works(civil.local(self.zone, slot).date())]

    def brief(self) -> str:
        return self._with_days(self.rule.brief())

    def describe(self, readers: bool = False) -> str:
        return self._with_days(self.rule.describe(readers))

    def _with_days(self, rule: str) -> str:
        if self.moves and self.country:
            text = _("%(rule)s; on a weekend or public holiday (%(country)s) on the next working day")
        elif self.moves:
            text = _("%(rule)s; on a weekend on the next working day")
        elif self.country:
            text = _("%(rule)s; not on weekends and public holidays (%(country)s)")
        else:
            text = _("%(rule)s; not on weekends")
        return text % {"rule": rule, "country": self.country}

    def clock_change(self, slot: datetime) -> ClockChange | None:
        return self.rule.clock_change(slot)

    @property
    def is_elapsed(self) -> bool:
        return self.rule.is_elapsed


def _moves(data: Mapping[str, Any]) -> bool:
    if (off_days := data.get("off_days")) not in ("skip", "next"):
        raise InvalidRule("off_days", "off_days")
    return bool(off_days == "next")


def _country(data: Mapping[str, Any]) -> str:
    code = data.get("public_holidays") or ""
    try:
        return public_holidays.read(code) if code else ""
    except (public_holidays.UnknownCountryError, AttributeError):
        raise InvalidRule("public_holidays", "public_holidays", given=str(code)[:40]) from None
