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
from schedules.rules import InvalidRule, Work
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
class Wishes:
    """The lead time of reminders before events; events of a whole day are told at a time of that day."""

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
        return _short(list(self.values.values()))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The reminders, soonest first; the keys of events that are over; and (title, why) of those that cannot be told."""

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


def wanted(events: Sequence[FileEvent], wishes: Wishes, zone: ZoneInfo, now: datetime, budget: Budget) -> Wanted:
    """`zone` is that of times without one. Raises OverBudget."""
    entries: dict[str, Entry] = {}
    over: set[str] = set()
    unfit = []
    for one in follow(events, wishes, zone, now, budget):
        if one.problem:
            unfit.append((one.event.title or _("an event"), one.problem))
        elif one.entry is not None:
            entries[one.key] = one.entry
        elif one.is_over:
            over.add(one.key)
    soonest = sorted(entries.values(), key=lambda entry: (entry.next_slot, entry.key))
    return Wanted(soonest, over - entries.keys(), unfit)


def follow(
    events: Sequence[FileEvent], wishes: Wishes, zone: ZoneInfo, now: datetime, budget: Budget
) -> Iterator[Followed]:
    """The reminders of each event, in order: one for each of its alarms. `zone` is that of times without one.

    Raises OverBudget when `budget` has no seconds left.
    """
    series = Series(events, wishes.all_day_at, zone)
    left = _WORK
    for event in events:
        budget.clock()
        key = _short(event.key)
        if event.is_cancelled:
            yield Followed(event, key)
            continue
        work = Work(min(left, BUDGET))
        left -= work.left
        try:
            found = list(_entries(event, key, wishes, series, now, work))
        except (_Unfit, InvalidRule, OverBudget) as refused:
            yield Followed(event, key, problem=str(refused).removesuffix(str(RRULE)).strip())
        except (ValueError, OverflowError):
            yield Followed(event, key, problem=str(_PROBLEMS["no-date"]))
        else:
            yield from (Followed(event, own, entry) for own, entry in found)
            if wishes.uses_alarms and any(entry for _own, entry in found):
                yield from [Followed(event, key, problem=str(_PROBLEMS["more-alarms"]))] * event.more_alarms
        finally:
            left += max(0, work.left)


def _entries(
    event: FileEvent, key: str, wishes: Wishes, series: Series, now: datetime, work: Work
) -> Iterator[tuple[str, Entry | None]]:
    """The key of each reminder, with None for one that is over. Raises _Unfit, InvalidRule, ValueError, OverBudget."""
    if event.problem:
        raise _Unfit(str(_PROBLEMS[event.problem]))
    assert event.start is not None  # noqa: S101 - else it has a problem
    if event.start.zone is None:
        raise _Unfit(_("Its time zone is not known."))
    own_lead: Lead = (0, 0) if event.start.is_date else (wishes.before.days, wishes.before.seconds)
    leads: list[Lead | str] = [own_lead]
    if wishes.uses_alarms and event.alarms:
        # The earliest has the key that the event's only one would have.
        leads = sorted(
            event.alarms, key=lambda lead: (isinstance(lead, str), lead if isinstance(lead, str) else -_total(lead))
        )
        if series.has(event) and all(isinstance(lead, str) for lead in leads):
            # An alarm at one instant is none of each date.
            leads.append(own_lead)
    # Its own alarm counts from the midnight of a day.
    day_at = time() if wishes.uses_alarms and event.alarms else None
    for number, lead in enumerate(leads):
        own = _short([*event.key, lead if isinstance(lead, str) else _total(lead)]) if number else key
        if isinstance(lead, str):
            at, _space, is_local = lead.partition(" ")
            where = series.where(event.start) if is_local else ZoneInfo("UTC")
            instant = civil_time.first_instant(where, datetime.fromisoformat(at))
            yield own, _single(event, own, instant, series, now)
        elif series.has(event):
            yield own, _repeating(event, own, lead, series, now, work, day_at)
        else:
            where = series.where(event.start)
            start = series.civil(event.start, where, day_at) - timedelta(days=lead[0])
            at_once = civil_time.first_instant(where, start) - timedelta(seconds=lead[1])
            yield own, _single(event, own, at_once, series, now)


def _single(event: FileEvent, key: str, at: datetime, series: Series, now: datetime) -> Entry | None:
    if at <= now:
        return None
    assert event.start is not None  # noqa: S101 - it was checked
    where = series.where(event.start)
    rule = {"at": civil_time.local(where, at).isoformat(timespec="seconds")}
    rules.parse("once", rule, where.key)
    return _entry(event, key, series, "once", rule, at)


def _repeating(
    event: FileEvent, key: str, lead: Lead, series: Series, now: datetime, work: Work, day_at: time | None
) -> Entry | None:
    rule, canonical, where = series.read(event, lead, work, day_at)
    if (following := RRule(where.key, canonical, rule).next_after(now, work)) is None:
        return None
    return _entry(event, key, series, "rrule", {"rule": canonical}, following)


def _total(lead: Lead) -> int:
    return lead[0] * 86_400 + lead[1]


def _entry(event: FileEvent, key: str, series: Series, kind: str, rule: dict[str, Any], at: datetime) -> Entry:
    assert event.start is not None  # noqa: S101 - it was checked
    return Entry(
        key=key,
        title=text.fit(" ".join(_plain(event.title).split()) or _("Event"), text.MAX_SUBJECT).text,
        body=_body(event, series.civil(event.start, series.where(event.start))),
        kind=kind,
        rule=rule,
        time_zone=series.where(event.start).key,
        next_slot=at,
        repeats=kind == "rrule",
    )


def _body(event: FileEvent, start: datetime) -> str:
    """When and where it is, and its own text."""
    begins = "" if event.start is None or event.start.is_date else _("At %(start)s") % {"start": f"{start:%H:%M}"}
    head = ", ".join(filter(None, (begins, " ".join(event.place.split()))))
    return text.fit(_plain("\n\n".join(filter(None, (head, event.text, event.url)))), text.MAX_BODY).text


def _plain(said: str) -> str:
    """Words in braces are no placeholders here."""
    return text.PLACEHOLDER.sub(lambda match: f"{{ {match[1]} }}", said)


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:20]
