"""The sentence for each code of `InvalidRule`."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_lazy as _, ngettext_lazy

from common.texts.numbers import grouped
from common.texts.types import StrOrPromise
from schedules.rules import words

REACH = _("choose a date from the year 1900 to 9998")
_ONCE = _("Write the local date and time without an offset, such as 2026-03-29T09:00.")
_ANCHOR = _("Write a date and time with its offset from UTC, such as 2026-01-01T00:00:00+00:00.")
_CRON = _("Write five fields (minute, hour, day of month, month, day of week), such as 0 9 * * mon-fri.")
RRULE = _("Write it as in a calendar file, such as FREQ=WEEKLY;BYDAY=MO.")
_NO_DATE = _("“%(written)s” is not a date and time.")
_NO_ZONE = _("There is no time zone “%(name)s”.")
_CRON_RANGES = {
    "minute": _("minutes go from 0 to 59"),
    "hour": _("hours go from 0 to 23"),
    "day-of-month": _("days go from 1 to 31, L is the last, and the months given must have such a day"),
    "month": _("months go from 1 to 12, or jan to dec"),
    "day-of-week": _("days go from 0 (Sunday) to 7 (Sunday again), or sun to sat"),
}
_RRULE_TEXTS: dict[str, StrOrPromise] = {
    "rrule_property": _("“%(line)s” is not understood: only DTSTART, RRULE, RDATE, EXDATE and TRIGGER are."),
    "rrule_parameter": _("%(name)s has a parameter that is not understood: %(parameter)s."),
    "rrule_zone": _("%(name)s names the zone %(value)s, but the time zone is %(timezone)s. Make them the same."),
    "rrule_start_missing": _("DTSTART is missing: the first local date and time."),
    "rrule_start_twice": _("There are two DTSTARTs."),
    "rrule_start_in_utc": _(
        "DTSTART ends in Z, which means UTC, but the time zone is %(timezone)s. Write the local time "
        "without Z, or choose the time zone UTC."
    ),
    "rrule_missing": _("RRULE is missing."),
    "rrule_too_many": _("There are more than %(most)s RRULEs."),
    "rrule_trigger": _(
        "“%(value)s” is not a TRIGGER: a day before is -P1D, two hours before -PT2H; a year is the most."
    ),
    "rrule_date_format": _("“%(value)s” is not a date and time: 09:00 on 5 January 2026 is 20260105T090000."),
    "rrule_date": _("“%(value)s” is not in the calendar: %(error)s."),
    "rrule_out_of_reach": _("“%(value)s” is out of reach: %(reach)s."),
    "rrule_part": _("“%(part)s” is not understood: the parts of an RRULE are %(parts)s."),
    "rrule_part_twice": _("%(name)s is given twice."),
    "rrule_secondly": _("FREQ=SECONDLY is too often: once a minute, FREQ=MINUTELY, is the most."),
    "rrule_frequency": _("FREQ must be one of %(frequencies)s."),
    "rrule_count_and_until": _("COUNT and UNTIL exclude each other: keep one."),
    "rrule_count": _(
        "COUNT=%(count)s is not reached before the year %(year)s: there are %(fewer)s until then. Choose a "
        "smaller COUNT, or none."
    ),
    "rrule_week_start": _("WKST must be a day such as MO."),
    "rrule_position": _("BYSETPOS needs another BY part to choose from, such as BYDAY=MO,TU,WE,TH,FR."),
    "rrule_day": _(
        "BYDAY has “%(written)s”: write days such as MO,TH, or 1MO, -1FR for the first Monday, the last Friday."
    ),
    "rrule_day_number": _("BYDAY has “%(written)s”: a number, from 1 to 53, goes with FREQ=MONTHLY and YEARLY alone."),
    "rrule_part_and_frequency": _("%(part)s does not go with FREQ=%(frequency)s."),
    "rrule_zero": _("%(part)s has 0: it counts from 1."),
    "rrule_number": _("%(part)s has “%(value)s”: it takes whole numbers from %(lowest)s to %(highest)s."),
}
# Of two sentences, the second is an example.
TEXTS: dict[str, StrOrPromise | tuple[StrOrPromise, StrOrPromise]] = {
    "kind": _("There is no kind “%(kind)s”. Choose one of %(kinds)s."),
    "damaged": _("The stored rule is damaged (%(name)s). Edit it."),
    "too_costly": _(
        "This rule takes too long to work out: it never rings, or hardly ever, or excludes too much. "
        "Make it simpler, for example without COUNT, or split it into several reminders."
    ),
    "not_an_object": _("A rule is an object with %(parameters)s."),
    "parameter": _("A rule of kind “%(kind)s” has no “%(key)s”: it takes %(parameters)s."),
    "too_long": _("This is %(count)s characters long; at most %(longest)s are read."),
    "out_of_reach": _("“%(written)s” is out of reach: %(reach)s."),
    "time": _("Write the time as hours and minutes from 00:00 to 23:59, such as 09:00."),
    "days": _("Choose at least one day of the week, from 0 for Monday to 6 for Sunday, such as [0, 3]."),
    "day": _("Choose a day of the month from 1 to 31, or “last”."),
    "short": _("Choose what a month without that day does: “last” (its last day) or “skip”."),
    "off_days": _("Choose what happens on weekends and public holidays: “skip” or “next”."),
    "only_off_days": _("All its times are on days off. Choose the next working day instead, or other days."),
    "public_holidays": _("Enter the two letters of a country, such as DE, or DE-BY for a region."),
    "month": _("Choose a month."),
    "month_too_short": _("%(month)s has %(longest)s days at most. Choose one of them."),
    "nth": _("Choose a day of the month, or the first to fourth or last weekday."),
    "weekday": _("Choose a day of the week."),
    "step": _("Enter a whole number from 1 to %(most)s, such as 2."),
    "once": _ONCE,
    "once_format": (_NO_DATE, _ONCE),
    "once_date": (_("“%(written)s” is not a date and time of the calendar (%(error)s)."), _ONCE),
    "unit": _("Choose minutes, hours or days as the unit."),
    "every_minutes": _("Write a whole number of minutes from 1 to %(longest)s (ten years), such as 1."),
    "every_hours": _("Write a whole number of hours from 1 to %(longest)s (ten years), such as 1."),
    "every_days": _("Write a whole number of days from 1 to %(longest)s (ten years), such as 1."),
    "anchor": _ANCHOR,
    "anchor_format": (_NO_DATE, _ANCHOR),
    "anchor_offset": (_("“%(written)s” has no offset from UTC."), _ANCHOR),
    "cron": _CRON,
    "cron_shorthand": (_("“%(canonical)s” is not taken: %(shorthands)s are."), _CRON),
    "cron_fields": (ngettext_lazy("“%(text)s” has one field.", "“%(text)s” has %(count)s fields.", "count"), _CRON),
    "cron_field": (_("“%(canonical)s” has a bad %(name)s: %(range)s."), _CRON),
    "cron_never": (_("“%(canonical)s” never rings: no such date comes."), _CRON),
    "rrule": RRULE,
    "rrule_never": (_("This rule never rings: no such date comes before the year %(year)s."), RRULE),
    **{code: (text, RRULE) for code, text in _RRULE_TEXTS.items()},
    "window_offset": _("A window's start and end need an offset from UTC, such as 2026-01-01T00:00:00+00:00."),
    "window_order": _("The end lies before the start. Choose a later end, or none."),
    "timezone": _("Choose a time zone, such as Europe/Berlin."),
    "timezone_unknown": (_NO_ZONE, _("Use a name of the IANA database, such as Europe/Berlin or UTC.")),
    "timezone_misspelt": (_NO_ZONE, _("Did you mean %(closest)s?")),
    "timezone_offset": (_NO_ZONE, _("Use the name of a city, such as Europe/Berlin.")),
    "timezone_offset_fixed": (_NO_ZONE, _("Choose %(fixed)s, which is always %(offset)s.")),
    "timezone_offset_cities": (_NO_ZONE, _("Choose %(cities)s, where it is %(offset)s now.")),
    "timezone_offset_both": (
        _NO_ZONE,
        _("Choose %(cities)s, where it is %(offset)s now; or %(fixed)s, which is always %(offset)s."),
    ),
}
# Parameters that depend on the language.
_SHOWN: dict[str, Callable[[Any], StrOrPromise]] = {
    **dict.fromkeys(("longest", "highest", "most"), grouped),
    "month": words.month,
    "parameters": words.listed,
    "cities": lambda cities: get_text_list(cities, gettext("or")),
    "range": _CRON_RANGES.__getitem__,
}


def sentence(code: str, params: Mapping[str, Any]) -> str:
    """Return the problem and its remedy, in the active language. `given` is a value that cannot be used."""
    shown = {name: _SHOWN[name](value) if name in _SHOWN else value for name, value in params.items()}
    shown["reach"] = REACH
    texts = TEXTS[code]
    remedy = " ".join(str(text % shown) for text in (texts if isinstance(texts, tuple) else (texts,)))
    if "given" not in params:
        return remedy
    return gettext("“%(value)s” cannot be used here. %(remedy)s") % {"value": params["given"], "remedy": remedy}
