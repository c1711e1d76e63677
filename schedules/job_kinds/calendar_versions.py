"""Which of the versions of an event in a calendar file count. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from schedules.job_kinds.calendar_lines import Component
from schedules.job_kinds.calendar_values import FileEvent, Moment

_SAME_EXPORT = timedelta(minutes=1)
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 - stamps are compared as written


def current(found: Iterable[tuple[FileEvent, Component]]) -> list[FileEvent]:
    """Of each event its latest version. Several of one UID that are no versions of each other are several events."""
    alike: dict[Any, list[tuple[int, datetime, FileEvent]]] = defaultdict(list)
    found = list(found)
    days = {(event.uid, event.instance.at) for event, _ in found if event.instance and event.instance.is_date}
    for event, component in found:
        version = int(component.value("SEQUENCE")) if re.fullmatch(r"[0-9]{1,9}", component.value("SEQUENCE")) else 0
        alike[_name(event, days) if event.uid else id(event)].append((version, _stamp(component), event))
    current: list[FileEvent] = []
    sequences: dict[int, int] = {}
    for versions in alike.values():
        sequence = max(version for version, _at, _event in versions)
        stamp = max(at for version, at, _event in versions if version == sequence)
        latest = [event for version, at, event in versions if version == sequence and stamp - at <= _SAME_EXPORT]
        starts = [event.start.at if event.start else "" for event in latest]
        if len(set(starts)) > 1 and latest[0].instance is None:
            for event, start in zip(latest, starts, strict=True):
                event.key.append(start)
        sequences |= {id(event): sequence for event in latest}
        current += latest
    masters = {event.uid: event for event in current if event.uid and event.instance is None}
    left_out = {uid: {name for one in master.left_out for name in _names(one)} for uid, master in masters.items()}
    return [event for event in current if event.instance is None or _counts(event, masters, left_out, sequences)]


def _counts(
    event: FileEvent,
    masters: Mapping[str, FileEvent],
    left_out: Mapping[str, set[str | datetime]],
    sequences: Mapping[int, int],
) -> bool:
    """Whether a change of one date counts: not where a series of the same version or a later one leaves it out.

    Its own rule counts where the file does not have the series, or where it is another from this date on.
    """
    assert event.instance is not None  # noqa: S101 - its callers ask
    if (master := masters.get(event.uid)) is None:
        if event.rules or event.dates:
            event.instance, event.from_here = None, False
        return True
    if not event.from_here or event.rules == master.rules:
        event.rules, event.dates, event.left_out = [], [], []
    day = event.instance.at[:8]
    named = {day, f"of {day}"} if event.instance.is_date else {day, event.instance.utc}
    return not named & left_out[event.uid] or sequences[id(event)] > sequences[id(master)]


def _name(event: FileEvent, days: Collection[tuple[str, str]]) -> Any:
    """What versions of it share. A date of a series may be named in several zones, or by its day alone (`days`)."""
    if event.instance is None:
        return event.uid
    if (named := (event.uid, event.instance.at[:8])) in days:
        return named
    return event.uid, event.instance.utc if event.instance.zone else event.instance.at


def _names(moment: Moment) -> tuple[str | datetime, ...]:
    """Return the names of a date that is left out: a day names all its times, a time its day."""
    return (moment.at,) if moment.is_date else (moment.utc, f"of {moment.at[:8]}")


def _stamp(component: Component) -> datetime:
    try:
        at = datetime.fromisoformat(component.value("DTSTAMP"))
        return at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    except (ValueError, OverflowError):
        return _NEVER
