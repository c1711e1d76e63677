"""Template tags for instants, in the reader's zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common import durations, zones

register = template.Library()

_STEPS = ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h"), (60 * 86_400, 86_400, "days"))


@register.simple_tag
def instant(when: datetime | None, seconds: bool = False) -> str | SafeString:
    """`<time>` with "Fri 20 Nov, 09:00"; with the year if it is not this one. Empty for None."""
    if when is None:
        return ""
    shown = timezone.localtime(when)
    year = "" if shown.year == timezone.localtime().year else f" {shown.year}"
    clock = f"{shown:%H:%M:%S}" if seconds or shown.second else f"{shown:%H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        when.isoformat(),
        f"{shown:%A} {shown.day} {shown:%B %Y, %H:%M:%S %Z}",
        f"{shown:%a} {shown.day} {shown:%b}{year}, {clock}",
    )


@register.filter
def relative(when: datetime) -> str:
    """ "in 3 h", "5 min ago", "in 2 days", "now"."""
    distance = (when - timezone.now()).total_seconds()
    size = abs(distance)
    if size < 1:
        return "now"
    for limit, unit, name in _STEPS:
        if size < limit:
            words = _counted(round(size / unit), name)
            break
    else:
        words = _counted(round(size / (30.44 * 86_400)), "months")
    return f"in {words}" if distance > 0 else f"{words} ago"


@register.filter
def relative_time(when: datetime) -> SafeString:
    """As `relative`, in a `<time>` that a script keeps true while the page is open."""
    return format_html('<time datetime="{}" data-relative>{}</time>', when.isoformat(), relative(when))


@register.filter
def lasting(length: timedelta) -> str:
    """ "1 h 30 min"."""
    return durations.said(length)


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit.removesuffix('s') if count == 1 and len(unit) > 1 else unit}"


@register.simple_tag
def zones_offered() -> list[tuple[str, str]]:
    """The zones to offer, each with its offset from UTC now."""
    return zones.offsets(timezone.now().replace(minute=0, second=0, microsecond=0))


@register.filter
def offset(instant: datetime, zone: ZoneInfo) -> str:
    """ "UTC+05:30"."""
    return zones.offset(zone, instant)
