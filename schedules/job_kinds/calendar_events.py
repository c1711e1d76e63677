"""Reminders of a calendar's events, at a moment. Pure."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _, gettext_lazy

from common.parsing.budget import Budget, OverBudget
from common.times import civil_time
from notifications.messages import text
from schedules import rules
from schedules.job_kinds.calendar_file import FileEvent
from schedules.job_kinds.calendar_series import Series
from schedules.job_kinds.calendar_values import Lead
from schedules.rules import InvalidRule, Work, words
from schedules.rules.invalid import BUDGET
from schedules.rules.refusals import RRULE
from schedules.rules.rrule import RRule

# For all rules of a calendar together: a hostile one must not keep a worker busy. Each may take BUDGET of it.
_WORK = 20 * BUDGET
_PROBLEMS = {
    "no-date": gettext_lazy("Its date is not in the calendar."),
    "too-many-dates": gettext_lazy("The calendar has too many single dates."),
    "more-alarms": gettext_lazy("Of an event's alarms, the first ten are taken."),
    "exrule": gettext_lazy("It leaves out dates by a rule (EXRULE), which is not read."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderTimes:
    """The lead time of reminders before events; those of a whole day come at a time of that day."""

    before: timedelta
    uses_alarms: bool
    all_day_at: time


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The reminder of an event; `key` is the same as long as the event is, `digest` as long as nothing of it changes.

    `next_slot` is when it comes next; `repeats`: by a rule that tells all later ones too.
    """

    key: str
    title: str
    body: str
    kind: str
    rule: dict[str, Any]
    time_zone: str
    next_slot: datetime
    repeats: bool

    @property
    def values(self) -> dict[str, Any]:
        """The fields of its reminder that the event says; how that is sent, its person has chosen."""
        return {name: getattr(self, name) for name in ("title", "body", "kind", "rule", "time_zone")}

    @property
    def digest(self) -> str:
        return short_key(*self.values.values())


@dataclass(frozen=True, slots=True)
class Wanted:
    """The reminders, soonest first; the keys of events that are over; and (title, why) of those without a reminder."""

    entries: list[Entry]
    over: set[str]
    unfit: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Followed:
    """The reminder of an event or of one of its alarms. `problem`: why there is no reminder."""

    event: FileEvent
    key: str
    entry: Entry | None = None
    problem: str = ""

    @property
    def is_over(self) -> bool:
        return self.entry is None and not self.problem and not self.event.is_cancelled


class _Unfit(Exception):
    """No reminder can follow this event; the text says why."""


def wanted(events: Sequence[FileEvent], times: ReminderTimes, zone: ZoneInfo, now: datetime, budget: Budget) -> Wanted:
    """`zone` is that of times without one. Raises OverBudget."""
    entries: dict[str, Entry] = {}
    over: set[str] = set()
    unfit = []
    for one in follow(events, times, zone, now, budget):
        if one.problem:
            unfit.append((one.event.title or _("an event"), one.problem))
        elif one.entry is not None:
            entries[one.key] = one.entry
        elif one.is_over:
            over.add(one.key)
    soonest = sorted(entries.values(), key=lambda entry: (entry.next_slot, entry.key))
    return Wanted(soonest, over - entries.keys(), unfit)


def follow(
    events: Sequence[FileEvent], times: ReminderTimes, zone: ZoneInfo, now: datetime, budget: Budget
) -> Iterator[Followed]:
    """The reminders of each event, in order: one for each of its alarms. `zone` is that of times without one.

    Raises OverBudget when `budget` has no seconds left.
    """
    series = Series(events, times.all_day_at, zone)
    left = _WORK
    for event in events:
        budget.clock()
        key = short_key(*event.key)
        if event.is_cancelled:
            yield Followed(event, key)
            continue
        work = Work(min(left, BUDGET))
        left -= work.left
        try:
            made = list(_Reminders(event, times, series, now, work).entries(key))
        except (_Unfit, InvalidRule, OverBudget) as refused:
            yield Followed(event, key, problem=str(refused).removesuffix(str(RRULE)).strip())
        except (ValueError, OverflowError):
            yield Followed(event, key, problem=str(_PROBLEMS["no-date"]))
        else:
            yield from (Followed(event, own, entry) for own, entry in made)
            if times.uses_alarms and any(entry for _own, entry in made):
                yield from [Followed(event, key, problem=str(_PROBLEMS["more-alarms"]))] * event.more_alarms
        finally:
            left += max(0, work.left)


class _Reminders:
    """Of one event. Raises _Unfit."""

    def __init__(self, event: FileEvent, times: ReminderTimes, series: Series, now: datetime, work: Work) -> None:
        if event.problem:
            raise _Unfit(str(_PROBLEMS[event.problem]))
        assert event.start is not None  # noqa: S101 - else it has a problem
        if event.start.zone is None:
            raise _Unfit(_("Its time zone “%(zone)s” is not known.") % {"zone": event.unknown_zone[:60]})
        self._event, self._start, self._where = event, event.start, series.where(event.start)
        self._series, self._now, self._work = series, now, work
        self._alarms = event.alarms if times.uses_alarms else []
        self._lead: Lead = (0, 0) if event.start.is_date else (times.before.days, times.before.seconds)

    def entries(self, key: str) -> Iterator[tuple[str, Entry | None]]:
        """The key of each reminder, with None for one that is over. Raises InvalidRule, ValueError, OverBudget."""
        for number, lead in enumerate(self._leads()):
            own = short_key(*self._event.key, lead if isinstance(lead, str) else _total(lead)) if number else key
            if isinstance(lead, str):
                yield own, self._single(own, self._alarm_at(lead))
            elif self._series.has(self._event):
                yield own, self._repeating(own, lead)
            else:
                start = self._series.civil(self._start, self._where, self._day_at) - timedelta(days=lead[0])
                before = civil_time.first_instant(self._where, start) - timedelta(seconds=lead[1])
                yield own, self._single(own, before)

    def _leads(self) -> Sequence[Lead | str]:
        """The earliest alarm comes first: it has the key that the event's only reminder would have."""
        if not self._alarms:
            return [self._lead]
        times = sorted(one for one in self._alarms if isinstance(one, str))
        leads = sorted((one for one in self._alarms if not isinstance(one, str)), key=_total, reverse=True)
        # An alarm at one instant is none of each date.
        return [*leads, *times, *([self._lead] if not leads and self._series.has(self._event) else [])]

    @property
    def _day_at(self) -> time | None:
        """An event's own alarm counts from the midnight of a day."""
        return time() if self._alarms else None

    def _alarm_at(self, written: str) -> datetime:
        at, _space, is_local = written.partition(" ")
        where = self._where if is_local else ZoneInfo("UTC")
        return civil_time.first_instant(where, datetime.fromisoformat(at))

    def _single(self, key: str, at: datetime) -> Entry | None:
        if at <= self._now:
            return None
        rule = {"at": civil_time.local(self._where, at).isoformat(timespec="seconds")}
        rules.parse("once", rule, self._where.key)
        return self._entry(key, "once", rule, at, self._where)

    def _repeating(self, key: str, lead: Lead) -> Entry | None:
        rule, canonical, where = self._series.read(self._event, lead, self._work, self._day_at)
        following = RRule(where.key, canonical, rule).next_after(self._now, self._work)
        return None if following is None else self._entry(key, "rrule", {"rule": canonical}, following, where)

    def _entry(self, key: str, kind: str, rule: dict[str, Any], at: datetime, where: ZoneInfo) -> Entry:
        """`where` is the zone of its rule: a change of all later dates has that of its series."""
        title = " ".join(text.without_placeholders(self._event.title).split()) or _("Event")
        return Entry(
            key=key,
            title=text.fit(title, text.MAX_SUBJECT).text,
            body=self._body(where if kind == "rrule" else self._series.zone),
            kind=kind,
            rule=rule,
            time_zone=where.key,
            next_slot=at,
            repeats=kind == "rrule",
        )

    def _body(self, where: ZoneInfo) -> str:
        """When and where it is, and its own text. A time that repeats in another zone is not the same here all year."""
        event, start = self._event, self._series.civil(self._start, where)
        begins = "" if self._start.is_date else _("At %(start)s") % {"start": f"{start:%H:%M}"}
        of_zone = words.zone_time(where.key) if begins and where.key != self._series.zone.key else ""
        head = ", ".join(filter(None, (begins, of_zone, " ".join(event.place.split()))))
        whole = "\n\n".join(filter(None, (head, event.text, event.url)))
        return text.fit(text.without_placeholders(whole), text.MAX_BODY).text


def _total(lead: Lead) -> int:
    return lead[0] * 86_400 + lead[1]


def short_key(*parts: Any) -> str:
    """The same for the same entry of any later file."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]
