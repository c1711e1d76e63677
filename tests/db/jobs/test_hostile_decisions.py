"""What a stranger can make a decision cost: of each kind the largest answer that its check lets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from common.parsing.budget import Budget
from jobs import kinds
from jobs.checks import steps as job_steps
from jobs.kinds.base import Found, JobKind, Nothing, Say
from jobs.reading import extract, feeds
from jobs.reading.fetch import Refused
from schedules.job_kinds import calendar_events, calendar_file, calendar_series, report_queries
from schedules.job_kinds.calendar_sync import EVENTS
from tests.db.jobs.test_contract import ask_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
LARGEST = 2 * 1024 * 1024
HOST = {"url": "https://example.org/"}


def _page() -> tuple[dict[str, Any], Any, Any]:
    """A number and a text of the greatest length, against a limit and a memory of the same."""
    number, text = "9" * 40 + "e99", ("9" * 40 + "e99 ").ljust(extract.LONGEST, "a")
    asked = HOST | {"condition": "contains", "how": "text", "expression": ".*", "limit": "a" * 999 + "b"}
    value = {"text": text, "number": number, "other": number, "unit": ""}
    return asked, value, {"holds": False, **value, "text": "b" * extract.LONGEST}


def _feed() -> tuple[dict[str, Any], Any, Any]:
    entry = {"key": "", "title": "x" * feeds.LONGEST, "link": "https://example.org/" + "x" * 980}
    entries = [entry | {"key": f"{number:064}"} for number in range(feeds.MOST)]
    memory = {"keys": [f"old {number:060}" for number in range(500)], "silence": None}
    return HOST, {"title": "x" * feeds.LONGEST, "entries": entries, "dropped": LARGEST}, memory


def _streak() -> tuple[dict[str, Any], Any, Any]:
    """Ten answers of 2 MB, all of whose days follow each other."""
    days = {(date(2026, 6, 1) - number * DAY).isoformat(): 10**18 for number in range(10 * LARGEST // 45)}
    return {"login": "octocat"}, {"login": "x" * 100, "days": days}, None


def _report() -> tuple[dict[str, Any], Any, Any]:
    why: dict[str, Any] = {"code": "sent-anyway", "params": {}}
    for _ in range(20):
        why = {"code": "sent-anyway", "params": {"why": why}}
    lines = [["2026-05-31T10:00:00+00:00", "{a}" * 66, "x" * 80, why["code"], why["params"]]] * report_queries.LINES
    part = {"count": report_queries.MOST_COUNTED + 1, "lines": lines}
    sent = part | {"lines": [line[:2] for line in lines]}
    return {"period": "month", "of": "me"}, {"sent": sent, "failed": part, "coming": sent}, None


def _series() -> tuple[dict[str, Any], Any, Any]:
    steps = [{"after": number, "title": "{name}" * 33, "body": "{name}" * 1_666} for number in range(1_000)]
    return {"steps": steps, "step": 19}, {"ended": ""}, None


def _calendar() -> tuple[dict[str, Any], Any, Any]:
    """A series of which each of 2,000 events changes all later dates, with as many alarms as are read."""
    start = datetime(2026, 6, 5, 9, tzinfo=UTC)
    alarms = "".join(f"BEGIN:VALARM\r\nTRIGGER:-PT{minutes}M\r\nEND:VALARM\r\n" for minutes in range(10))
    events = [f"BEGIN:VEVENT\r\nUID:1\r\nDTSTART:{start:%Y%m%dT%H%M%SZ}\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n"]
    for minutes in range(1, calendar_file.MOST):
        at = f"{start + timedelta(minutes=minutes):%Y%m%dT%H%M%SZ}"
        events.append(
            f"BEGIN:VEVENT\r\nUID:1\r\nDTSTART:{at}\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:{at}\r\n{alarms}END:VEVENT\r\n"
        )
    raw = f"BEGIN:VCALENDAR\r\n{''.join(events)}END:VCALENDAR\r\n".encode()
    assert len(raw) <= LARGEST
    read, _ = calendar_file.read(raw, "", NOW)
    asked = {"minutes": 10, "all_day_at": "09:00", "alarms": True}
    return asked, {"events": EVENTS.dump_python(read), "dropped": 0}, None


ANSWERS: dict[str, Callable[[], tuple[dict[str, Any], Any, Any]]] = {
    "web_value": _page,
    "feed": _feed,
    "github_streak": _streak,
    "report": _report,
    "calendar_sync": _calendar,
    "series": _series,
    "onboarding": lambda: ({"step": 1}, {"channel": False, "reminder": False}, None),
}


@pytest.mark.parametrize("kind", kinds.all(), ids=[kind.name for kind in kinds.all()])
def test_a_decision_over_the_largest_answer_ends_within_its_budget(kind: JobKind) -> None:
    """`steps.decide` refuses whatever took longer; only a calendar may need all of it, and is then cut off."""
    payload, value, memory = ANSWERS[kind.name]()
    ask = replace(ask_of(kind, payload), memory=memory)
    decision = job_steps.decide(kind, ask, Found(value))
    if isinstance(decision, Refused):
        assert (kind.name, decision.reason.code) == ("calendar_sync", "over-budget")
    else:
        assert isinstance(decision, Say | Nothing)


def test_the_events_of_a_calendar_are_followed_only_while_seconds_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_steps, "DECISION", 0)
    monkeypatch.setattr(calendar_series.Series, "read", Mock(side_effect=AssertionError))
    kind, (payload, value, _) = kinds.find("calendar_sync"), _calendar()
    assert kind is not None
    decision = job_steps.decide(kind, ask_of(kind, payload), Found(value))
    assert isinstance(decision, Refused)
    assert decision.reason.params == {"limit": ["seconds", 0]}


def test_when_a_series_ends_is_computed_once_for_all_that_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of n changes of all later dates asks where the next begins: n of them cost no n²."""
    named = Mock(wraps=calendar_series.Series._named)
    monkeypatch.setattr(calendar_series.Series, "_named", lambda self, *args: named(self, *args))
    _, value, _ = _calendar()
    events = EVENTS.validate_python([one | {"alarms": []} for one in value["events"][:200]])
    times = calendar_events.ReminderTimes(before=timedelta(0), uses_alarms=True, all_day_at=time(9))
    assert calendar_events.wanted(events, times, ZoneInfo("UTC"), NOW, Budget(seconds=10)).entries
    assert named.call_count < 4 * len(events)
