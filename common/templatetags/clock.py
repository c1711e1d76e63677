"""Template tags for instants, in the reader's zone, and for states."""

import json
import math
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext_lazy

from common import zones
from common.texts.state_words import state_word
from common.times import dates, durations, snooze

register = template.Library()

register.filter("state_word", state_word)
register.filter("lasting", durations.in_words)
register.filter("offset", zones.offset)
for name in ("day", "full_day", "weekday", "named_day", "month"):
    register.filter(name, getattr(dates, name))

# Up to so many seconds, the unit, and what is said of one and of more of it, ahead and past.
_STEPS = (
    (60, 1, gettext_lazy("in %(count)d s"), gettext_lazy("%(count)d s ago")),
    (3_600, 60, gettext_lazy("in %(count)d min"), gettext_lazy("%(count)d min ago")),
    (86_400, 3_600, gettext_lazy("in %(count)d h"), gettext_lazy("%(count)d h ago")),
    (
        60 * 86_400,
        86_400,
        ngettext_lazy("in %(count)d day", "in %(count)d days", "count"),
        ngettext_lazy("%(count)d day ago", "%(count)d days ago", "count"),
    ),
    (
        730 * 86_400,
        30.44 * 86_400,
        ngettext_lazy("in %(count)d month", "in %(count)d months", "count"),
        ngettext_lazy("%(count)d month ago", "%(count)d months ago", "count"),
    ),
    (
        math.inf,
        365.25 * 86_400,
        ngettext_lazy("in %(count)d year", "in %(count)d years", "count"),
        ngettext_lazy("%(count)d year ago", "%(count)d years ago", "count"),
    ),
)


@register.simple_tag
def instant(when: datetime | None, seconds: bool = False, readers: bool = False) -> str | SafeString:
    """`<time>` with "Fri 20 Nov, 09:00"; with the year if it is not this one. Empty for None.

    With `readers`, the time that the clock of each reader shows, of an instant of the first zone.
    """
    if when is None:
        return ""
    shown = timezone.localtime(when, ZoneInfo(zones.FIRST_ZONE) if readers else None)
    clock = f"{shown:%H:%M:%S}" if seconds or shown.second else f"{shown:%H:%M}"
    text = f"{dates.short_day(shown, shown.year != timezone.localtime().year)}, {clock}"
    if readers:
        return format_html(
            '<time datetime="{}">{}</time> <span class="relative">{}</span>',
            f"{shown:%Y-%m-%dT%H:%M:%S}",
            text,
            _("on each reader’s clock"),
        )
    return format_html('<time datetime="{}" title="{}">{}</time>', when.isoformat(), dates.in_full(shown), text)


@register.simple_tag
def snooze_presets() -> list[snooze.Preset]:
    """Those that are still to come, in the reader's zone."""
    return snooze.offered(timezone.now(), ZoneInfo(str(timezone.get_current_timezone())))


@register.filter
def near_day(when: datetime) -> str:
    """ "today", "tomorrow", or empty."""
    return dates.near_day(timezone.localtime(when).date(), timezone.localdate())


@register.filter
def date_and_time(when: datetime) -> str:
    """ "20 November 2026, 09:00 CET"."""
    return f"{dates.full_day(when)}, {when:%H:%M %Z}"


@register.filter
def relative(when: datetime) -> str:
    """ "in 3 h", "5 min ago", "in 2 days", "now"."""
    distance = (when - timezone.now()).total_seconds()
    if (size := abs(distance)) < 1:
        return _("now")
    unit, ahead, past = next(step[1:] for step in _STEPS if size < step[0])
    return str((ahead if distance > 0 else past) % {"count": round(size / unit)})


@register.filter
def relative_time(when: datetime) -> SafeString:
    """As `relative`, in a `<time>` that a script keeps true while the page is open."""
    return format_html('<time datetime="{}" data-relative>{}</time>', when.isoformat(), relative(when))


@register.simple_tag
def relative_words() -> str:
    """Words of `relative`, for the script: "now", and steps of (limit, unit, [one, more] ahead, [one, more] past)."""
    steps = [
        (None if limit == math.inf else limit, unit, *([_form(word, count) for count in (1, 2)] for word in words))
        for limit, unit, *words in _STEPS
    ]
    return json.dumps([_("now"), steps], ensure_ascii=False)


def _form(text: Any, count: int) -> str:
    """The text for a number, with "#" in its place."""
    return str(text % {"count": count}).replace(str(count), "#")


@register.simple_tag
def zones_offered() -> SafeString:
    """The list of zones to offer, each with its offset from UTC now."""
    return _zones_at(timezone.now().replace(minute=0, second=0, microsecond=0))


@lru_cache(maxsize=1)
def _zones_at(hour: datetime) -> SafeString:
    named = ((name, zones.offset(hour, ZoneInfo(name))) for name in zones.offered())
    options = format_html_join("", '<option value="{}" label="{}">', named)
    return format_html('<datalist id="zones">{}</datalist>', options)
