"""The English words of quick add. Those of other languages are put into English ones: see languages.py."""

from __future__ import annotations

from datetime import time

from django.utils.translation import gettext_lazy as _

from schedules.rules.words import DAYS, MONTHS

EVERY = {"every", "each"}
OTHER = {"other"}
AND = {"and", "&", ","}
TO = {"to", "-", "–", "through"}
UNTIL_TIME = TO | {"till", "until"}
ON = {"on", "by", "this", "coming"}
THIS = {"this"}
THE = {"the"}
OF = {"of", "in"}
AT = {"at", "@"}
IN = {"in"}
NEXT = {"next"}
UNTIL = {"until", "till", "til", "ending", "through"}
FROM = {"from", "starting", "beginning"}
# Behind these, only a day comes.
STARTING = {"starting", "beginning"}
FOR = {"for"}
TIMES = {"times"}
EXCEPT = {"except", "but"}
BETWEEN = {"between"}
END = {"end"}
# Before a day or a time, these mean something that a reminder cannot say.
RELATIVE = {"before", "after", "around", "since"}
VAGUE = {
    "soon", "later", "sometime", "sometimes", "often", "regularly", "occasionally", "someday", "eventually", "now",
    "asap", "twice", "always", "never", "rarely", "few", "several",
}  # fmt: skip
# Said before the title.
PREAMBLES = ("please remind me to", "remind me to", "remind me about", "remind me of", "remind me that", "remind me")

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "ninety": 90,
}  # fmt: skip
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "last": -1,
}  # fmt: skip

UNITS = (
    dict.fromkeys(("second", "seconds", "sec", "secs"), "seconds")
    | dict.fromkeys(("minute", "minutes", "min", "mins"), "minutes")
    | dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), "hours")
    | dict.fromkeys(("day", "days"), "days")
    | dict.fromkeys(("week", "weeks", "wk", "wks"), "weeks")
    | dict.fromkeys(("month", "months"), "months")
    | dict.fromkeys(("quarter", "quarters"), "quarters")
    | dict.fromkeys(("year", "years"), "years")
)
ADVERBS = {
    "hourly": (1, "hours"),
    "daily": (1, "days"),
    "everyday": (1, "days"),
    "weekly": (1, "weeks"),
    "fortnightly": (2, "weeks"),
    "biweekly": (2, "weeks"),
    "monthly": (1, "months"),
    "quarterly": (3, "months"),
    "yearly": (1, "years"),
    "annually": (1, "years"),
}
ONCE = {"once"}
A = {"a", "an"}
DAY, HOUR = {"day"}, {"hour"}

WEEKDAYS = (
    {name.lower(): number for number, name in enumerate(DAYS)}
    | {name[:3].lower(): number for number, name in enumerate(DAYS)}
    | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
)
# "on Mondays" repeats.
PLURALS = {f"{name.lower()}s": number for number, name in enumerate(DAYS)}
WORKDAYS, WEEKEND = (0, 1, 2, 3, 4), (5, 6)
WORKDAY, WORKDAY_PLURAL = {"weekday", "workday"}, {"weekdays", "workdays"}
WORKING_DAYS = {"days"}
SATURDAY_AND_SUNDAY, SATURDAYS_AND_SUNDAYS = {"weekend"}, {"weekends"}
WORKING = {"working", "business", "work"}
MONTH_NAMES = (
    {name.lower(): number for number, name in enumerate(MONTHS, 1)}
    | {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
# Words that are also something else: alone they are a day only where a day is expected.
AMBIGUOUS = {"sun", "sat", "wed", "mon", "mar", "may", "march", "jan"}

TODAY, TONIGHT, TOMORROW = {"today"}, {"tonight"}, {"tomorrow", "tmrw"}
DAY_AFTER_TOMORROW = ("day", "after", "tomorrow")
FROM_NOW = ("from", "now")
PARTS_OF_DAY = {
    "morning": time(9),
    "afternoon": time(15),
    "evening": time(19),
    "night": time(20),
}
# "at 8" in these is 20:00.
SECOND_HALF = {"afternoon", "evening", "night"}
NIGHT = "night"
NAMED_TIMES = {"noon": time(12), "midday": time(12), "midnight": time(0)}
MORNING = PARTS_OF_DAY["morning"]
HALF, QUARTER, PAST, OCLOCK = {"half"}, {"quarter"}, {"past"}, {"o'clock", "o’clock"}
ZONE_WORD = {"time"}

HINTS = {
    "empty": _("Write what and when, such as “water the plants every Sunday 18:00”."),
    "long": _("This is longer than {what} characters. Write one short line, and the rest as the text of the reminder."),
    "nothing": (
        _("No time is found in “{what}”. Add one, such as “tomorrow 9:00”, “in 20 minutes” or “every Sunday 18:00”.")
    ),
    "vague": _("“{what}” is no time. Write one, such as “tomorrow 9:00”, “in 20 minutes” or “every 3 days 9:00”."),
    "every": (
        _("“{what}” is not understood. Write “every day”, “every 2 weeks on Monday”, “every last Friday” or “every "
          "24 December”. A title with such words goes into quotes.")
    ),
    "which": (
        _("“{what}” can mean two things. Write “every {n} weeks on {day}” or “every {nth} {day} of the month”.")
    ),
    "which-weekday": _("Which {day} of the month? Write “every first {day}”, “every last {day}” or “every {day}”."),
    "past": _("“{what}” has passed, or repeats? Write “every last {day}” or “the last {day} of March”."),
    "time": _("“{what}” is no time of day. Write it as 9:00, 18:30 or 6pm."),
    "passed": _("“{what}” has passed. Write a later time, such as “today 23:00” or “tomorrow 9:00”."),
    "date": _("“{what}” is not in the calendar. Write a date such as 24 December or 2026-12-24."),
    "slashes": _("“{what}” can be read two ways. Write the month as a word, such as 3 April, or 2026-04-03."),
    "two-days": _("Two days are named: “{what}”. Keep one; a title with such words goes into quotes."),
    "two-repeats": _("Two repetitions are named: “{what}”. Keep one, and make a second reminder for the other."),
    "two-ends": _("Two ends are named: “{what}”. Keep one."),
    "two-times": (
        _("These times do not fit into one reminder. Make one for each, or use the same minute, as “8:00 and 20:00”.")
    ),
    "range": _("“{what}” is a span. Write when it begins, such as 9:00; “from 9 to 17” goes with “every hour”."),
    "relative": _("“{what}” is not exact enough. Write the day and time itself, such as “Friday 9:00”."),
    "until": _("“{what}” is not understood. Write “until Friday”, “until 24 December” or “until March”."),
    "until-once": _("“{what}” needs a repetition, such as “every day until Friday”."),
    "from": _("“{what}” is not understood. Write “from Monday”, “from 1 December” or “from March”."),
    "in": _("“{what}” is not understood. Write “in 20 minutes”, “in 3 hours” or “in 2 weeks”."),
    "unfit": (
        _("“{what}” does not go together. Write “every month on the 15th”, “every 2 weeks on Friday” or “every day "
          "9:00”.")
    ),
    "seconds": _("A reminder repeats once a minute at most. Write “every minute”."),
    "small-unit": _("“{what}” needs a step that divides the hour or the day, such as every 15 minutes or every 2 "
                    "hours."),
    "title": _("Say also what to be reminded of, such as “dentist {what}”."),
}  # fmt: skip


class NotUnderstood(ValueError):
    """A line that is refused. The message says what would be understood; `code` is a key of HINTS."""

    def __init__(self, code: str, what: str = "", **named: object) -> None:
        super().__init__(HINTS[code].format(what=what[:60], **named))
        self.code = code
