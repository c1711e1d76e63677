"""`python -m bench.readers DIR`: our readers against recurring-ical-events and feedparser's own expectations.

DIR holds the unpacked sources of icalendar, recurring-ical-events and feedparser. For each calendar the slots of its
events within two years from its first one are compared, for each feed its number of entries, their titles and links.
It prints what differs or is refused, with its reason where it is known, and how many are the same. Where DIR holds
price-parser too, it prints how many of its examples of prices our reader reads, and it itself, if it is installed.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import django

UTC_ZONE = ZoneInfo("UTC")
_MOST = 300
_SPAN = timedelta(days=730)
# What is meant to differ: a part of the file's name, and why.
REASONS = {
    "issue42.ics": "4,778 events, of which 2,000 are read",
    "issue_253_additional": "a change after the series' end counts, also if it is older",
    "issue_156_RDATE": "Notes lists all dates of a meeting in an event that changes one: each is a meeting",
    "issue_165": "spaces in a rule, for which the library drops the series",
    "issue_75_range": "UNTIL is a day of a series with times: that day belongs to it",
    "issue_1633": "a day in RDATE means the series' own time of that day",
    "example.ics": "several events of one UID: each counts, the library takes the first",
    "invalid_duration": "a length out of range: the event counts from its start",
    "end_before_start": "the start as written counts; the library exchanges start and end",
    "issue_28": "its last day stands as the midnight of London in UTC: that day belongs to the series",
    "issue_132": "the start as written counts; the library exchanges start and end",
    "issue_201_test_matrix": "its tasks end as VTOOD: they are read where the calendar ends",
    "issue_97_todo": "tasks are read, which the library leaves out unless asked",
    "timezone_same_start": "its last line says END:VCALENDARD: it may be cut off",
    "rfc_7529": "SKIP is followed, which the library does not know",
    "entry_title_crazy": "the head of a page that stands in a title is not shown",
    "entry_title_base64": "what stands escaped in a title is text",
    "entry_title_inline_markup_2": "what stands escaped in a title is text",
    "entry_title_text_plain_brackets": "what stands escaped in a title is text",
}


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    warnings.simplefilter("ignore")
    verdicts: Counter[str] = Counter()
    folder = Path(sys.argv[1])
    for path in sorted(folder.rglob("*.ics")):
        _count(verdicts, "calendar", path, _calendar(path.read_bytes()))
    for path in sorted((*folder.rglob("wellformed/**/*.xml"), *folder.rglob("illformed/*.xml"))):
        if (verdict := _feed(path)) is not None:
            _count(verdicts, "feed", path, verdict)
    for name, count in sorted(verdicts.items()):
        print(f"{count:6}  {name}")
    for path in folder.rglob("test_price_parsing.py"):
        print(_prices(path))
    return 1 if any("differs" in name and "reason" not in name for name in verdicts) else 0


def _count(verdicts: Counter[str], kind: str, path: Path, verdict: str) -> None:
    known = next((why for part, why in REASONS.items() if part in path.name), "")
    if verdict != "same":
        print(f"{kind} {path.name}: {verdict}" + (f" ({known})" if known else ""))
    word = verdict.split(":")[0]
    verdicts[f"{kind}: {word}" + (" with a reason" if known and word == "differs" else "")] += 1


def _calendar(raw: bytes) -> str:
    import icalendar
    import recurring_ical_events

    try:
        calendars = icalendar.Calendar.from_ical(raw, multiple=True)
        begin = _beginning(calendars)
        expected = sorted(
            _instant(one["DTSTART"].dt)
            for calendar in calendars
            for one in recurring_ical_events.of(calendar, skip_bad_series=True).between(begin, begin + _SPAN)
            if str(one.get("STATUS", "")).upper() != "CANCELLED" and _instant(one["DTSTART"].dt) > begin
        )
    except Exception as error:
        return f"peer fails: {type(error).__name__}"
    try:
        ours, unfit = _slots(raw, begin)
    except ValueError as error:
        return f"refused: {error}" if expected else "same"
    wanted = list(dict.fromkeys(expected))[:_MOST]
    found = list(dict.fromkeys(ours))[:_MOST]
    if wanted == found:
        return "same"
    if unfit and not set(found) - set(wanted):
        return f"refused: {unfit[0]}"
    missing = [f"{one:%Y-%m-%d %H:%M}" for one in sorted(set(wanted) - set(found))]
    more = [f"{one:%Y-%m-%d %H:%M}" for one in sorted(set(found) - set(wanted))]
    return f"differs: {len(missing)} missing {missing[:2]}, {len(more)} more {more[:2]}"


def _beginning(calendars: Sequence[object]) -> datetime:
    starts = [
        _instant(event["DTSTART"].dt)
        for calendar in calendars
        for event in calendar.walk("VEVENT")  # type: ignore[attr-defined]
        if "DTSTART" in event
    ]
    later = [start for start in starts if start.year > 1900]
    return (min(later) if later else datetime(2026, 1, 1, tzinfo=UTC)) - timedelta(days=1)


def _instant(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _slots(raw: bytes, begin: datetime) -> tuple[list[datetime], list[str]]:
    from common.parsing.budget import Budget
    from schedules import rules
    from schedules.job_kinds import calendar_file
    from schedules.job_kinds.calendar_events import ReminderTimes, wanted

    every, _dropped = calendar_file.read(raw, "", begin)
    times = ReminderTimes(before=timedelta(0), uses_alarms=False, all_day_at=time())
    events = [event for event in every if not event.later]
    result = wanted(events, times, UTC_ZONE, begin, Budget(seconds=10))
    found = []
    for entry in result.entries:
        rule, slot = rules.parse(entry.kind, entry.rule, entry.time_zone), begin
        for _ in range(_MOST):
            following = rule.next_after(slot)
            if following is None or following >= begin + _SPAN:
                break
            found.append(slot := following)
    return sorted(found), [f"{title}: {why}" for title, why in result.unfit]


_EXPECT = re.compile(rb"Expect:\s*(.+)")


def _feed(path: Path) -> str | None:
    """Of files that say something of an entry's title or link. None for those that do not."""
    import feedparser

    from jobs.reading import feeds

    raw = path.read_bytes()
    expect = _EXPECT.search(raw)
    if expect is None or not re.search(rb"entries\[0\]\[.(title|link).\]", expect[1]):
        return None
    peer = feedparser.parse(raw, response_headers={"content-type": "application/xml"})
    try:
        ours = feeds.read(raw, "application/xml", "https://example.org/")["entries"]
    except ValueError as error:
        return f"refused: {error}"
    links = {str(entry.get("link", "")) for entry in peer.entries if str(entry.get("link", "")).startswith("http")}
    if len(ours) > len(peer.entries) or links - {entry["link"] for entry in ours}:
        return f"differs: {sorted(links)} {[entry['link'] for entry in ours]}"
    titles = {" ".join(re.sub(r"<[^>]*>", " ", str(entry.get("title", ""))).split()) for entry in peer.entries}
    said = {"".join(entry["title"].split()) for entry in ours}
    if {"".join(title.split()) for title in titles if title} - said:
        return f"differs: {titles} {[entry['title'] for entry in ours]}"
    return "same"


def _prices(path: Path) -> str:
    """Of each Example(currency, text, currency, amount as text, amount, decimal mark), whether its amount is read."""
    from jobs.reading import numbers

    try:
        from price_parser import Price  # type: ignore[import-not-found]
    except ImportError:
        Price = None
    names = ("currency_raw", "price_raw", "currency", "amount_text", "amount_float", "decimal_separator")
    count = ours = theirs = 0
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Example":
            continue
        given = dict(zip(names, node.args, strict=False)) | {one.arg or "": one.value for one in node.keywords}
        values = {name: _literal(value) for name, value in given.items()}
        text, amount = values["price_raw"] or "", values["amount_float"]
        mark = values.get("decimal_separator")
        amount = None if amount is None else Decimal(str(amount))
        count += 1
        ours += numbers.number(text, mark if mark in (".", ",") else "") == amount
        theirs += Price is not None and Price.fromstring(text, values["currency_raw"], mark).amount == amount
    return f"prices: of {count} examples ours reads {ours}" + (f", price-parser {theirs}" if Price else "")


def _literal(node: ast.expr) -> Any:
    """A constant, or that in Decimal("…")."""
    return ast.literal_eval(node.args[0] if isinstance(node, ast.Call) else node)


if __name__ == "__main__":
    sys.exit(main())
