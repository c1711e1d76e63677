"""Keep a reminder for each event of a calendar: they begin, change and end with the events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop, ngettext
from pydantic import TypeAdapter

from common.forms.edit_form import WholeNumberField
from common.parsing.pool import parsed
from jobs.kinds import silence
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused, problem
from jobs.reasons import JobCode
from schedules.job_kinds import calendar_file
from schedules.job_kinds.calendar_events import Entry, ReminderTimes, wanted
from schedules.job_kinds.calendar_file import FileEvent
from schedules.job_kinds.calendar_reminders import apply
from work.reasons import FORMATS, Codes, Reason

MOST = 500
_LONGEST = 7 * 24 * 60
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
# What is over is removed after so long: its message may wait for the end of quiet hours.
_RETAINED = timedelta(days=7)
_NAMED = 20
EVENTS = TypeAdapter(list[FileEvent])

FORMATS["events"] = lambda count: ngettext("%(count)s event", "%(count)s events", count) % {"count": count}
FORMATS["causes"] = lambda causes: "; ".join(
    f"{one['count']} × {one['cause'].rstrip('.')} (“{one['example']}”)" for one in causes
)


class CalendarCode(Codes):
    CHECKED = (
        "calendar-checked",
        gettext_noop("checked the calendar: {count:events} to come, {new} new, {changed} changed, {ended} ended"),
    )
    LEFT_OUT = (
        "calendar-left-out",
        gettext_noop("Reminders are kept for the first {most} alone; {count} more are left out."),
    )
    UNFIT = (
        "calendar-unfit",
        gettext_noop("{count} cannot be followed, such as “{title}”: {why}"),
    )  # of earlier releases
    NO_TIMES = "calendar-no-times", gettext_noop("its minutes or its time are missing")
    NOT_TAKEN = "calendar-not-taken", gettext_noop("{count} not taken: {listed:causes}.")
    MANY_GONE = (
        "calendar-many-gone",
        gettext_noop(
            "checked the calendar: {gone} of {known:events} are gone; they end if the next check finds the same"
        ),
    )
    CUT = "calendar-cut", gettext_noop("The calendar's address did not answer with a whole calendar.")


class CalendarForm(forms.Form):
    minutes = WholeNumberField(gettext_lazy("Minutes before an event"), 0, _LONGEST, required=True, initial=10)
    alarms = forms.BooleanField(
        label=gettext_lazy("Use an event's own alarm, if it has one"), required=False, initial=True
    )
    all_day_at = forms.TimeField(
        label=gettext_lazy("Events of a whole day"),
        initial="09:00",
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        help_text=gettext_lazy("At which time of that day you are reminded of them."),
        error_messages=dict.fromkeys(("required", "invalid"), gettext_lazy("Enter a time, such as 09:00.")),
    )
    tell = forms.BooleanField(label=gettext_lazy("Tell me which events are new, changed or gone"), required=False)


class _Comparison:
    """The entries of a calendar beside those that are remembered, by keys where there are no entries.

    `before`: for each key its digest and when it is over (None: it repeats).
    """

    def __init__(
        self, before: Mapping[str, Sequence[Any]], entries: Sequence[Entry], over: set[str], now: datetime
    ) -> None:
        ends = {key: datetime.fromisoformat(at) for key, (_digest, at) in before.items() if at is not None}
        passed = {key for key, at in ends.items() if at <= now}
        absent = before.keys() - {entry.key for entry in entries}
        ended = {key: min(ends.get(key, now), now) for key in sorted(absent & (over | passed))}
        since = now - _RETAINED
        self.new = [entry for entry in entries if entry.key not in before]
        self.differ = [entry for entry in entries if before.get(entry.key, [entry.digest])[0] != entry.digest]
        # Of an event that repeats, and of whose dates each one has its turn, the next is not news.
        self.changed = [entry for entry in self.differ if entry.key not in passed]
        self.gone = sorted(absent - over - passed)
        self.old = [key for key, at in ended.items() if at < since]
        # The message of what is over may still wait for the end of quiet hours.
        self.retained = {key: [before[key][0], at.isoformat()] for key, at in ended.items() if at >= since}
        self.counts = {"new": len(self.new), "changed": len(self.changed), "ended": len(self.gone)}

    def placeholders(self) -> dict[str, str]:
        events = _named(_("New: %(title)s"), self.new) + _named(_("Changed: %(title)s"), self.changed)
        return {name: str(count) for name, count in self.counts.items()} | {"events": events}


class CalendarSync(JobKind):
    name = "calendar_sync"
    label = gettext_lazy("Calendar")
    about = gettext_lazy("Reads a calendar, and keeps a reminder for each of its events.")
    position = 50
    connection = "calendar"
    conditional = True
    form = CalendarForm
    placeholders: ClassVar = {"new": "3", "changed": "1", "ended": "0", "events": gettext_lazy("New: Dentist")}
    title = gettext_lazy("Your calendar: {new} new, {changed} changed, {ended} ended")
    body = "{events}"

    def payload(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        return {**cleaned, "all_day_at": f"{cleaned['all_day_at']:%H:%M}"}

    def summary(self, payload: Mapping[str, Any]) -> str:
        return _("the events of a calendar")

    def question(self, ask: Ask) -> Any:
        return 2  # whatever is wanted of them, the events are the same; the number is that of their form

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        if _reminder_times(ask.payload) is None:
            return Refused(Reason(JobCode.UNREADABLE_PAYLOAD, problem=Reason(CalendarCode.NO_TIMES)))
        url = ask.source.secrets.get("url") if ask.source else None
        if not url:
            return Refused(Reason(JobCode.NO_CONNECTION))
        service = gettext_noop("The calendar")
        response = fetch.get(url, service=service)
        if wrong := problem(response, service):
            return wrong
        kind = response.headers.get("Content-Type", "")
        try:
            events, dropped = parsed(calendar_file.read, response.body, kind, ask.now, person=ask.user_id)
        except calendar_file.NotACalendar:
            return Later(Reason(CalendarCode.CUT))
        return Found({"events": EVENTS.dump_python(events), "dropped": dropped})

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        times, events = _reminder_times(ask.payload), EVENTS.validate_python(value["events"])
        assert times is not None  # noqa: S101 - the check has refused it
        result = wanted(events, times, ask.zone, ask.now, ask.budget)
        entries, before = result.entries[:MOST], {"events": {}, "gone": "", "silence": None} | (ask.memory or {})
        compared = _Comparison(before["events"], entries, result.over, ask.now)
        alive = len(before["events"]) - len(compared.retained) - len(compared.old)
        gone = " ".join(compared.gone)
        if len(compared.gone) * 2 > alive and before["gone"] != gone:
            reason = Reason(CalendarCode.MANY_GONE, gone=len(compared.gone), known=alive)
            return Nothing(reason, before | {"gone": gone})
        # A calendar that is empty from the start does not count as one that brings nothing.
        was_silent = before["silence"] or (silence.BROUGHT if value["events"] or before["events"] else None)
        remembered = {
            entry.key: [entry.digest, None if entry.repeats else entry.next_slot.isoformat()] for entry in entries
        }
        memory = {
            "events": compared.retained | remembered,
            "silence": silence.follow(was_silent, ask.now, brings=bool(entries)),
        }
        reason = Reason(CalendarCode.CHECKED, count=len(entries), **compared.counts)
        if (rest := _not_taken(result.unfit, max(0, len(result.entries) - MOST) + value["dropped"])) is not None:
            reason = reason.then(rest)
        written, ended = [*compared.new, *compared.differ], [*compared.gone, *compared.old]
        changes = bool(written or ended or ask.memory is None)
        effect = partial(apply, ask, written, ended, memory) if changes else None
        if ask.payload.get("tell") and any(compared.counts.values()):
            return Say(reason, compared.placeholders(), memory, effect=effect, changes_reminders=changes)
        return silence.noted(Nothing(reason, memory, effect, changes_reminders=changes), was_silent, memory["silence"])


def _reminder_times(payload: Mapping[str, Any]) -> ReminderTimes | None:
    """None for a payload that no form made."""
    minutes, at = payload.get("minutes"), payload.get("all_day_at")
    if type(minutes) is not int or not 0 <= minutes <= _LONGEST or not isinstance(at, str) or not _TIME.fullmatch(at):
        return None
    return ReminderTimes(
        before=timedelta(minutes=minutes), uses_alarms=bool(payload.get("alarms")), all_day_at=time.fromisoformat(at)
    )


def _not_taken(unfit: Sequence[tuple[str, str]], too_many: int) -> Reason | None:
    """Of each cause how many events and the first of them, so that one that is frequent hides no other."""
    left_out = Reason(CalendarCode.LEFT_OUT, most=MOST, count=too_many) if too_many else None
    if left_out is not None:
        left_out.params["listed"] = [{"cause": str(left_out), "count": too_many, "example": ""}]
    if not unfit:
        return left_out
    reason = Reason(CalendarCode.NOT_TAKEN, count=len(unfit), listed=causes(unfit))
    return reason.then(left_out) if left_out else reason


def causes(unfit: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Of (title, why) each cause with its count and an example, the most frequent first."""
    first = {why: title for title, why in reversed(unfit)}
    counts = Counter(why for _title, why in unfit)
    return [
        {"cause": why[:200], "count": count, "example": first[why][:60]} for why, count in counts.most_common(_NAMED)
    ]


def _named(line: str, entries: Sequence[Entry]) -> str:
    lines = [line % {"title": entry.title} + "\n" for entry in entries[:_NAMED]]
    return "".join(lines) + ("…\n" if len(entries) > _NAMED else "")
