"""Convert a calendar's series to the text of a reminder's rule. Pure."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TypeGuard
from zoneinfo import ZoneInfo

from common import zones
from common.parsing.budget import Budget
from common.times import civil_time
from schedules.job_kinds import calendar_rules
from schedules.job_kinds.calendar_values import CONVERTED, FileEvent, Lead, Moment
from schedules.rules import Work, civil, rrule_text
from schedules.rules.calendar_rule import CalendarRule

_TIME_PARTS = re.compile(r"(^|;)BY(HOUR|MINUTE)=")
_VARIES = re.compile("FREQ=(?:HOURLY|MINUTELY)|BYHOUR|BYMINUTE")
_UNTIL = re.compile(r"(?<=UNTIL=)\d{8}T\d{6}(?=Z?(?:;|$))")
_ENDS = re.compile(r";?(?:COUNT|UNTIL)=[^;]*")
_AFTER_CHANGES = 4
_MOST_DATES = 20_000
_SECOND = timedelta(seconds=1)


@dataclass(slots=True)
class _Draft:
    """A rule before it is text. A date in `excluded` stands for all times of that day."""

    start: datetime
    rules: list[str]
    dates: list[datetime]
    excluded: list[date]

    def text(self, ahead: timedelta, early: timedelta) -> str:
        """`ahead` before its times on the clock, and `early` in time that passes.

        Where they stay on their days, the times themselves are moved.
        """
        shift = ahead + early if not self.dates and self._can_shift(ahead, early) else timedelta(0)

        def written(moment: date) -> str:
            return f"{moment - shift:%Y%m%dT%H%M%S}" if isinstance(moment, datetime) else f"{moment:%Y%m%d}"

        lines = [f"DTSTART:{written(self.start)}"]
        for rule in self.rules:
            until = _UNTIL.sub(lambda match: written(datetime.fromisoformat(match[0])), rule)
            lines.append(f"RRULE:{until}")
        for name, moments in (("RDATE", self.dates), ("EXDATE", self.excluded)):
            if moments:
                lines.append(f"{name}:" + ",".join(sorted({written(moment) for moment in moments})))
        if not shift:
            lines += rrule_text.triggers(ahead, early)
        return "\n".join(lines)

    def _can_shift(self, ahead: timedelta, early: timedelta) -> bool:
        at = self.start - ahead
        stays = (at - early).date() == at.date() == self.start.date()
        # Clocks change at night.
        is_even = not early or min(at, at - early).hour >= _AFTER_CHANGES
        return stays and is_even and not any(_TIME_PARTS.search(rule) for rule in self.rules)


class Series:
    """The events of a calendar by UID: which dates of a series others replace, one of them or all from there on.

    A budget bounds the texts of all: each of n series of one UID would leave out each of its n changed dates.
    """

    def __init__(self, events: Sequence[FileEvent], all_day_at: time, zone: ZoneInfo) -> None:
        self._all_day_at, self.zone = all_day_at, zone
        self._masters: dict[str, FileEvent] = {}
        self._moved: dict[str, list[Moment]] = defaultdict(list)
        self._later: dict[str, list[Moment]] = defaultdict(list)
        self._ends: dict[tuple[int, time | None], list[datetime]] = {}
        self._budget = Budget(seconds=2, items=_MOST_DATES)
        for event in events:
            if event.instance is None:
                self._masters[event.uid] = event
            elif event.from_here:
                self._later[event.uid].append(event.instance)
            else:
                self._moved[event.uid].append(event.instance)

    def has(self, event: FileEvent) -> bool:
        """Whether it repeats, or changes all later dates of one that does."""
        return _repeats(event) or self._master(event) is not event

    def _master(self, event: FileEvent) -> FileEvent:
        """The series of which it changes all later dates, or itself."""
        master = self._masters.get(event.uid)
        return master if event.from_here and not _repeats(event) and _repeats(master) else event

    def where(self, moment: Moment) -> ZoneInfo:
        return zones.read(moment.zone) if moment.zone and moment.zone != CONVERTED else self.zone

    def civil(self, moment: Moment, where: ZoneInfo, at: time | None = None) -> datetime:
        """On the clock of a zone. A day has the time `at`, or that of reminders of days."""
        if moment.is_date:
            return datetime.combine(moment.civil, self._all_day_at if at is None else at)
        if not moment.zone or moment.zone == where.key:
            return moment.civil
        return civil_time.local(where, moment.utc)

    def read(self, event: FileEvent, lead: Lead, work: Work, at: time | None) -> tuple[CalendarRule, str, ZoneInfo]:
        """The rule, `lead` before its times, its text, and its zone; of a day, before `at`. Raises InvalidRule."""
        ahead, early = timedelta(days=lead[0]), timedelta(seconds=lead[1])
        master = self._master(event)
        assert master.start is not None and event.start is not None  # noqa: S101 - has() ensures it
        where = self.where(master.start)
        draft = self._draft(master, where, at)
        since = None if event.instance is None else self._named(event.instance, master, draft.start, where)
        ends = self._ends_of(master, draft.start, where, at)
        following = 0 if since is None else bisect_right(ends, since)
        _cut(draft, None if master is event else since, next(iter(ends[following : following + 1]), None), where, work)
        if master is not event and since is not None:
            ahead -= self.civil(event.start, where, draft.start.time()) - since
        ahead -= timedelta(seconds=master.later)
        rule, text = rrule_text.read(draft.text(ahead, early), where.key, work)
        if not _begins(rule, work):
            # To calendars the start counts, also where the rule does not name it.
            draft.dates.append(draft.start)
            rule, text = rrule_text.read(draft.text(ahead, early), where.key, work)
        return rule, text, where

    def _draft(self, master: FileEvent, where: ZoneInfo, at: time | None) -> _Draft:
        assert master.start is not None  # noqa: S101 - has() ensures it
        start = self.civil(master.start, where, at)
        without = master.left_out + self._moved[master.uid]
        self._budget.items(len(without) + len(master.dates))
        dates = [self._named(moment, master, start, where) for moment in master.dates]
        excluded: list[date] = []
        for moment in without:
            named = self._named(moment, master, start, where)
            is_day = moment.is_date or (moment.at.endswith("T000000") and _is_at_one_time(master, named, start))
            excluded.append(moment.civil.date() if is_day and not master.start.is_date else named)
        return _Draft(start, list(master.rules) or [calendar_rules.ONCE], dates, excluded)

    def _ends_of(self, master: FileEvent, start: datetime, where: ZoneInfo, at: time | None) -> list[datetime]:
        """When others replace all later dates of a series, in order; read once, since each of these asks."""
        if (ends := self._ends.get((id(master), at))) is None:
            later = self._later[master.uid]
            self._budget.items(len(later))
            ends = sorted(self._named(one, master, start, where) for one in later)
            self._ends[id(master), at] = ends
        return ends

    def _named(self, moment: Moment, master: FileEvent, start: datetime, where: ZoneInfo) -> datetime:
        """The time of a series that a moment names. A day of it may be written as a midnight, and the other way."""
        assert master.start is not None  # noqa: S101 - has() ensures it
        if not master.start.is_date and not moment.is_date:
            return self.civil(moment, where)
        is_midnight = moment.is_date or moment.at.endswith("T000000")
        return datetime.combine(moment.civil if is_midnight else self.civil(moment, self.zone), start.time())


def _repeats(event: FileEvent | None) -> TypeGuard[FileEvent]:
    is_valid = event is not None and event.start is not None and event.start.zone is not None and not event.problem
    return is_valid and bool(event and (event.rules or event.dates))


def _is_at_one_time(master: FileEvent, named: datetime, start: datetime) -> bool:
    """Whether all dates of a series have one time of day, and `named` another: then a midnight names its day."""
    varies = master.dates or any(_VARIES.search(rule) for rule in master.rules)
    return not varies and named.time() != start.time()


def _cut(draft: _Draft, since: datetime | None, end: datetime | None, where: ZoneInfo, work: Work) -> None:
    """Leave the dates from `since` to before `end`."""
    if since is None and end is None:
        return
    written, last = [], civil.LAST if end is None else end - _SECOND
    for rule in draft.rules:
        read, _text = rrule_text.read(f"DTSTART:{draft.start:%Y%m%dT%H%M%S}\nRRULE:{rule}", where.key, work)
        until = min(read.until, last)
        ends = f";UNTIL={until:%Y%m%dT%H%M%S}" if until < civil.LAST else ""
        written.append(_ENDS.sub("", rule).strip(";") + ends)
    draft.rules, draft.start = written, since or draft.start
    draft.dates = [one for one in draft.dates if draft.start <= one <= last]


def _begins(rule: CalendarRule, work: Work) -> bool:
    """Whether its start is one of its times, or past its end."""
    for one in (rule, *rule.also):
        if one.until < one.start or next(one.of_rule(one.start - civil.TICK, work), None) == one.start:
            return True
    return False
