"""Choose the versions of events in a calendar file that count. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from schedules.job_kinds.calendar_lines import Component
from schedules.job_kinds.calendar_values import FileEvent, Moment

_SAME_EXPORT = timedelta(minutes=1)
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 - stamps are compared as written


@dataclass(frozen=True)
class _Version:
    """`at` is when it was written down."""

    event: FileEvent
    sequence: int
    at: datetime

    @classmethod
    def of(cls, event: FileEvent, component: Component) -> _Version:
        written = component.value("SEQUENCE")
        return cls(event, int(written) if re.fullmatch(r"[0-9]{1,9}", written) else 0, _stamp(component))

    @cached_property
    def left_out(self) -> set[str | datetime]:
        """A day names all its times, a time its day."""
        days = {one.at for one in self.event.left_out if one.is_date}
        times = [one for one in self.event.left_out if not one.is_date]
        return days | {one.utc for one in times} | {f"of {one.at[:8]}" for one in times}


def current(components: Iterable[tuple[FileEvent, Component]]) -> list[FileEvent]:
    """Of each event its latest version. Several of one UID that are not versions of each other are several events."""
    current = _latest_of_each([_Version.of(event, component) for event, component in components])
    masters = {one.event.uid: one for one in current if one.event.uid and one.event.instance is None}
    return [one.event for one in current if not (at := one.event.instance) or _counts(one, at, masters)]


def _latest_of_each(versions: Sequence[_Version]) -> list[_Version]:
    instances = [(one.event.uid, one.event.instance) for one in versions if one.event.instance]
    days = {(uid, instance.at) for uid, instance in instances if instance.is_date}
    alike: dict[Any, list[_Version]] = defaultdict(list)
    for one in versions:
        alike[_name(one.event, days) if one.event.uid else id(one)].append(one)
    return [one for several in alike.values() for one in _latest(several)]


def _latest(versions: Sequence[_Version]) -> list[_Version]:
    """The latest one, and those of the same export. Where these start at other times, they are several events."""
    newest = max(versions, key=lambda one: (one.sequence, one.at))
    latest = [one for one in versions if one.sequence == newest.sequence and newest.at - one.at <= _SAME_EXPORT]
    starts = [one.event.starts_at for one in latest]
    if len(set(starts)) > 1 and latest[0].event.instance is None:
        for one, start in zip(latest, starts, strict=True):
            one.event.key.append(start)
    return latest


def _counts(version: _Version, instance: Moment, masters: Mapping[str, _Version]) -> bool:
    """Whether a change of one date counts: not where a series of the same version or a later one leaves it out.

    A later version that cancels the series cancels its changed dates, too (RFC 5546, 3.2.5).

    Its own rule counts where the file does not have the series, or where it is another from this date on.
    """
    event = version.event
    if (master := masters.get(event.uid)) is None:
        if event.rules or event.dates:
            event.instance, event.from_here = None, False
        return True
    if master.event.is_cancelled and version.sequence < master.sequence:
        return False
    if not event.from_here or event.rules == master.event.rules:
        event.rules, event.dates, event.left_out = [], [], []
    day = instance.at[:8]
    named = {day, f"of {day}"} if instance.is_date else {day, instance.utc}
    return not named & master.left_out or version.sequence > master.sequence


def _name(event: FileEvent, days: Collection[tuple[str, str]]) -> Any:
    """The name that its versions share. A date of a series may have several zones, or be a day alone (`days`)."""
    if event.instance is None:
        return event.uid
    if (named := (event.uid, event.instance.at[:8])) in days:
        return named
    return event.uid, event.instance.utc if event.instance.zone else event.instance.at


def _stamp(component: Component) -> datetime:
    try:
        at = datetime.fromisoformat(component.value("DTSTAMP"))
        return at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    except (ValueError, OverflowError):
        return _NEVER
