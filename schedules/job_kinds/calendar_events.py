"""What reminders follow from the events of a calendar, at a moment. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from common import civil_time, zones
from notifications import text
from schedules import rules
from schedules.job_kinds.calendar_file import FileEvent, Moment
from schedules.rules import InvalidRule, Work, rrule_text
from schedules.rules.invalid import BUDGET

_TIME_PARTS = re.compile(r"(^|;)BY(HOUR|MINUTE)=", re.IGNORECASE)
_UNTIL = re.compile(r"(?<=UNTIL=)\d{8}T\d{6}(?=Z?(?:;|$))", re.IGNORECASE)
# For all rules of a calendar together: a hostile one must not keep a worker busy. Each may take BUDGET of it.
_WORK = 20 * BUDGET


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How long before an event its reminder comes; events of a whole day are told at a time of that day."""

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
    def draft_fields(self) -> dict[str, Any]:
        """What the event says of its reminder's draft; how that is sent, its person has chosen."""
        return {name: getattr(self, name) for name in ("title", "body", "kind", "rule", "time_zone")}

    @property
    def digest(self) -> str:
        return _short(list(self.draft_fields.values()))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The reminders, soonest first; the keys of events that are over; and (title, why) of those that cannot be told."""

    entries: list[Entry]
    over: set[str]
    unfit: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Followed:
    """What becomes of an event. `problem`: why there is no reminder, or what the reminder leaves out."""

    event: FileEvent
    key: str
    entry: Entry | None = None
    problem: str = ""

    @property
    def is_over(self) -> bool:
        return self.entry is None and not self.problem and not self.event.is_cancelled


class _Unfit(Exception):
    """No reminder can follow this event; the text says why."""


def wanted(events: Sequence[FileEvent], wishes: Wishes, zone: ZoneInfo, now: datetime) -> Wanted:
    """`zone` is that of times without one."""
    entries: dict[str, Entry] = {}
    over: set[str] = set()
    unfit = []
    for one in follow(events, wishes, zone, now):
        if one.problem:
            unfit.append((one.event.title or _("an event"), one.problem))
        if one.entry is not None:
            entries[one.key] = one.entry
        elif one.is_over:
            over.add(one.key)
    soonest = sorted(entries.values(), key=lambda entry: (entry.next_slot, entry.key))
    return Wanted(soonest, over - entries.keys(), unfit)


def follow(events: Sequence[FileEvent], wishes: Wishes, zone: ZoneInfo, now: datetime) -> Iterator[Followed]:
    """What becomes of each event, in their order. `zone` is that of times without one."""
    moved = defaultdict(list)
    for event in events:
        if event.instance is not None:
            moved[event.uid].append(event.instance)
    left = _WORK
    for event in events:
        key = _short([event.uid, event.instance.at if event.instance else ""])
        if event.is_cancelled:
            yield Followed(event, key)
            continue
        left_out = event.left_out if event.instance is not None else event.left_out + moved[event.uid]
        work = Work(min(left, BUDGET))
        left -= work.left
        entry, problem = None, ""
        try:
            entry = _entry(key, event, left_out, wishes, zone, now, work)
            if entry is not None and event.has_more_dates:
                problem = _("It has single further dates (RDATE), which are left out.")
        except (_Unfit, InvalidRule) as found:
            problem = str(found).removesuffix(str(rrule_text.EXAMPLE)).strip()
        except (ValueError, OverflowError):
            problem = _("Its date is not in the calendar.")
        finally:
            left += max(0, work.left)
        yield Followed(event, key, entry, problem)


def _entry(
    key: str, event: FileEvent, left_out: list[Moment], wishes: Wishes, zone: ZoneInfo, now: datetime, work: Work
) -> Entry | None:
    """The reminder, None for an event that is over. Raises _Unfit, InvalidRule, or ValueError for a wrong date."""
    assert event.start is not None  # noqa: S101 - it would not have been read
    if event.start.zone is None:
        raise _Unfit(_("Its time zone is not known."))
    where = zones.read(event.start.zone) if event.start.zone else zone
    start = _civil(event.start, wishes)
    lead = timedelta(0) if event.start.is_date else wishes.before
    if wishes.uses_alarms and event.alarm is not None and not event.start.is_date:
        lead = timedelta(minutes=event.alarm)
    repeats = False
    if event.rule and event.instance is None:
        excluded = [_at(moment, where, zone, wishes) for moment in left_out if moment.zone is not None]
        repeats = _can_shift(event.rule, start, lead)
        # No rule says "the day before the first Monday": then the next one alone, until a later look.
        rest = timedelta(0) if repeats else lead
        written = _rule_text(event.rule, start, excluded, lead - rest)
        calendar_rule, canonical = rrule_text.read(written, where.key, work)
        following = next(calendar_rule.after(civil_time.high_water(where, now + rest), work), None)
        if following is None:
            return None
        slot = civil_time.first_instant(where, following) - rest
        kind, rule = ("rrule", {"rule": canonical}) if repeats else ("once", _once(slot, where))
    else:
        slot = civil_time.first_instant(where, start) - lead
        if slot <= now:
            return None
        kind, rule = "once", _once(slot, where)
        rules.parse(kind, rule, where.key)
    return Entry(
        key=key,
        title=text.fit(" ".join(_plain(event.title).split()) or _("Event"), text.MAX_SUBJECT).text,
        body=_body(event, start),
        kind=kind,
        rule=rule,
        time_zone=where.key,
        next_slot=slot,
        repeats=repeats,
    )


def _once(slot: datetime, where: ZoneInfo) -> dict[str, Any]:
    return {"at": civil_time.local(where, slot).isoformat(timespec="seconds")}


def _can_shift(rule: str, start: datetime, lead: timedelta) -> bool:
    """Whether the rule has its slots earlier by `lead` where its start is: if they stay on the same days."""
    return not lead or ((start - lead).date() == start.date() and not _TIME_PARTS.search(rule))


def _rule_text(rule: str, start: datetime, excluded: list[datetime], lead: timedelta) -> str:
    def earlier(moment: datetime) -> str:
        return f"{moment - lead:%Y%m%dT%H%M%S}"

    until = _UNTIL.sub(lambda match: earlier(datetime.strptime(match[0], "%Y%m%dT%H%M%S")), rule)  # noqa: DTZ007 - civil
    lines = [f"DTSTART:{earlier(start)}", f"RRULE:{until}"]
    if excluded:
        lines.append("EXDATE:" + ",".join(earlier(moment) for moment in sorted(set(excluded))[:200]))
    return "\n".join(lines)


def _civil(moment: Moment, wishes: Wishes) -> datetime:
    """Raises ValueError for what is no date or time."""
    if moment.is_date:
        return datetime.combine(datetime.strptime(moment.at, "%Y%m%d").date(), wishes.all_day_at)  # noqa: DTZ007 - civil
    return datetime.strptime(moment.at, "%Y%m%dT%H%M%S")  # noqa: DTZ007 - civil


def _at(moment: Moment, where: ZoneInfo, zone: ZoneInfo, wishes: Wishes) -> datetime:
    """A date that is left out, as a civil time of the event's zone."""
    civil = _civil(moment, wishes)
    own = zones.read(moment.zone) if moment.zone else where
    if moment.is_date or own.key == where.key:
        return civil
    return civil_time.local(where, civil.replace(tzinfo=own).astimezone(UTC))


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
