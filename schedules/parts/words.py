"""Sentences about schedules and slots: for pages, the admin, commands and notices. Code elsewhere works with codes."""

import re
from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from itertools import chain, count

from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from common.times import dates, durations
from notifications import providers
from notifications.models import Channel
from schedules.rules import InvalidRule, Timetable, Work, civil
from schedules.rules.rule import ClockChange
from schedules.rules.words import city, clock, listed

# A rule that fires less often than this does not surprise anybody by waiting an hour longer.
_FREQUENT = timedelta(hours=12)
_LONGEST_TITLE = 200


def on_hold(until: str, rings_at: str = "", labels: Sequence[str] = ()) -> str:
    """A slot in quiet hours, which hold it on these channels, on all if none is named; how to ring in time, if told."""
    if not rings_at:
        text = _("Held until %(until)s")
    elif labels:
        text = _("Held until %(until)s on %(channels)s by your quiet hours; make it urgent to ring at %(time)s")
    else:
        text = _("Held until %(until)s by your quiet hours; make it urgent to ring at %(time)s")
    return text % {"until": until, "channels": listed(labels) if labels else "", "time": rings_at}


def holiday(first: date, last: date, is_past: bool = False) -> str:
    """Why a slot will send nothing, or sent nothing."""
    if first == last:
        text = _("Nothing was sent: holiday on %(first)s") if is_past else _("Nothing is sent: holiday on %(first)s")
    elif is_past:
        text = _("Nothing was sent: holiday from %(first)s to %(last)s")
    else:
        text = _("Nothing is sent: holiday from %(first)s to %(last)s")
    return text % {"first": date_format(first), "last": date_format(last)}


def copy_of(title: str, taken: Collection[str]) -> str:
    """The title of a copy: “Rent (copy)”, “Rent (copy 2)”, … - the first that is not taken."""
    first, other = _(" (copy)"), _(" (copy %(number)d)")
    numbered = re.escape(other).replace(re.escape("%(number)d"), "[0-9]+")
    copied = re.fullmatch(rf"(.*\S)(?:{re.escape(first)}|{numbered})", title, re.DOTALL)
    original: str = copied[1] if copied else title
    suffixes = chain([first], (other % {"number": number} for number in count(2)))
    titles = (original[: _LONGEST_TITLE - len(suffix)].rstrip() + suffix for suffix in suffixes)
    return next(title for title in titles if title not in taken)


def unreached(channel: Channel) -> str:
    failed = _("The last message to “%(channel)s” failed.") % {"channel": channel.label}
    return channel.problem() or providers.get(channel.provider).notice() or failed


def broken(title: str, error: str, page: str) -> tuple[str, str]:
    """Subject and body of the notice about a schedule whose rule cannot be read; `page` is its address."""
    return (
        _("“%(title)s” does not ring any more") % {"title": title[:150]},
        _("It cannot be read: %(error)s\n\nNothing is sent until you edit it: %(page)s")
        % {"error": error, "page": page},
    )


def without_channel(title: str, page: str) -> tuple[str, str]:
    return (
        _("“%(title)s” has no channel") % {"title": title[:150]},
        _("It was due, and nothing was sent. Choose a channel for it: %(page)s") % {"page": page},
    )


def damaged_zone(zone: str, page: str) -> tuple[str, str]:
    return (
        _("Your time zone is not known"),
        _(
            "There is no time zone “%(zone)s” (any more). Until you choose another, pages show times in UTC, and your "
            "quiet hours do not hold: %(page)s"
        )
        % {"zone": zone, "page": page},
    )


def limit_reached() -> str:
    text = _("You have %(most)s reminders, as many as one person may have here. Delete one that you no longer need.")
    return text % {"most": settings.MOST_SCHEDULES}


def calendar_left_out(title: str, count: int) -> tuple[str, str]:
    """Subject and body of the notice that a calendar has more events than its person may have reminders."""
    return _("“%(title)s” leaves out %(count)s events") % {"title": title[:150], "count": count}, limit_reached()


def clock_note(timetable: Timetable, slot: datetime, work: Work | None = None) -> str:
    """The effect of a clock change on a slot; "" if nothing, or if finding out costs more than `work` has left.

    After the clock is turned back, a rule that fires several times a day waits until the clock has caught up.
    """
    try:
        change = timetable.rule.clock_change(slot)
        following = None if timetable.rule.is_elapsed else timetable.next_after(slot, work)
    except InvalidRule:
        return ""
    text = clock_change(change)
    if following is None or following - slot > _FREQUENT:
        return text
    zone, wait = timetable.rule.zone, following - slot
    shown = civil.local(zone, following)
    if shown - civil.local(zone, slot) >= wait:
        return text
    if text:
        silent = _("%(change)s; silent while the clock shows the hour again: the next is at %(time)s, %(length)s later")
    else:
        silent = _("Silent while the clock shows the hour again: the next is at %(time)s, %(length)s later")
    return silent % {"change": text, "time": clock(shown), "length": durations.in_words(wait)}


def clock_change(change: ClockChange | None) -> str:
    if change is None:
        return ""
    first, count = change.times[0], len(change.times)
    place = {"time": clock(first), "day": dates.full_day(first), "city": city(change.timezone)}
    if change.code == "once":
        return _("%(time)s happens twice on %(day)s in %(city)s: rings once, the first time") % place
    if change.code == "both":
        return _("%(time)s happens twice on %(day)s in %(city)s: rings both times") % place
    shown = [clock(time) for time in change.times]
    named = listed(shown)
    if count > 4:  # a whole lost day can hold 1,440 of them
        few = {"first": shown[0], "second": shown[1], "last": shown[-1], "count": count}
        named = _("%(first)s, %(second)s … %(last)s (%(count)s times)") % few
    at = clock(change.fires_at)
    if change.fires_at.date() != first.date():
        at = _("%(time)s on %(day)s") % {"time": at, "day": dates.full_day(change.fires_at)}
    if change.code == "merged":
        text = ngettext(
            "%(times)s does not exist on %(day)s in %(city)s: merged with %(fires_at)s",
            "%(times)s do not exist on %(day)s in %(city)s: merged with %(fires_at)s",
            count,
        )
    else:
        text = ngettext(
            "%(times)s does not exist on %(day)s in %(city)s: rings at %(fires_at)s",
            "%(times)s do not exist on %(day)s in %(city)s: rings once for them, at %(fires_at)s",
            count,
        )
    return text % {"times": named, "fires_at": at, **place}
