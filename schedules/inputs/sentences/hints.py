"""The hints of quick add: why a line is refused, and what would be understood."""

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

HINTS = {
    "empty": _("Write what and when, such as “water the plants every Sunday 18:00”."),
    "long": _("This is longer than {what} characters. Write one short line, and the rest as the text of the reminder."),
    "nothing": (
        _("No time is found in “{what}”. Add one, such as “tomorrow 9:00”, “in 20 minutes” or “every Sunday 18:00”.")
    ),
    "vague": _("“{what}” is not a time. Write one, such as “tomorrow 9:00”, “in 20 minutes” or “every 3 days 9:00”."),
    "every": (
        _("“{what}” is not understood. Write “every day”, “every 2 weeks on Monday”, “every last Friday” or “every "
          "24 December”. A title with such words goes into quotes.")
    ),
    "which": (
        _("“{what}” can mean two things. Write “every {n} weeks on {day}” or “every {nth} {day} of the month”.")
    ),
    "which-weekday": _("Which {day} of the month? Write “every first {day}”, “every last {day}” or “every {day}”."),
    "past": _("“{what}” has passed, or repeats? Write “every last {day}” or “the last {day} of March”."),
    "time": _("“{what}” is not a time of day. Write it as 9:00, 18:30 or 6pm."),
    "passed": _("“{what}” has passed. Write a later time, such as “today 23:00” or “tomorrow 9:00”."),
    "date": _("“{what}” is not in the calendar. Write a date such as 24 December or 2026-12-24."),
    "slashes": _("“{what}” can be read two ways. Write the month as a word, such as 3 April, or 2026-04-03."),
    "two-days": (
        _("Two days are named: “{what}”. Keep one, or write “every Monday and Friday”; a title with such words goes "
          "into quotes.")
    ),
    "two-repeats": _("Two repetitions are named: “{what}”. Keep one, and make a second reminder for the other."),
    "two-ends": _("Two ends are named: “{what}”. Keep one."),
    "two-times": (
        _("“{what}” does not fit into one reminder. Make one for each time, or use the same minute, as “8:00 and "
          "20:00”.")
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
    "rest": (
        _("“{what}” may be a part of the time, and is not understood there. Write the time another way; words of the "
          "title go into quotes, such as “\"Call 112\" tomorrow 9:00”.")
    ),
    "typo": (
        _("“{what}” looks like “{day}”. Correct it, or put the title into quotes, such as “\"Call 112\" tomorrow "
          "9:00”.")
    ),
    "over": (
        _("“{what}” is over. Write a time to come, or put the title into quotes, such as “\"Call 112\" tomorrow "
          "9:00”.")
    ),
    "zone": _("“{what}” does not say which zone it is. Write the name of a city, such as “9:00 New York time”."),
    "which-time": _("“{what}” can be in the first or in the second half of the day. Write it as {night} or {day}."),
    "which-day": _("The weekday and the date of “{what}” do not agree. Keep one of them."),
    "which-week": _("“{what}” can be the one of this week or of the next. Write the date."),
    "idiom": _("“{what}” can mean full weeks or exactly as many days. Write the date."),
    "amount": _("“{what}” can be a time or an amount. Write the time as 12:00, or put the amount into quotes."),
    "minutes": _("“{what}” can be a time with minutes, or two times. Write it as 8:20, or as 8:00 and 20:00."),
    "midnight": _("“{what}” can be when the day begins or when it ends. Write 00:00 or 23:59."),
    "title": _("Say also what to be reminded of, such as “dentist {what}”."),
}  # fmt: skip


class NotUnderstood(ValueError):
    """A line that is refused. The message says what would be understood; `code` is a key of HINTS.

    `choices` are lines that say what this one may mean, each with its name.
    """

    def __init__(self, code: str, what: str = "", choices: Sequence[tuple[str, str]] = (), **named: object) -> None:
        super().__init__(HINTS[code].format_map({"what": what[:60], "n": "", "nth": "", "day": ""} | named))
        self.code, self.choices, self.named = code, tuple(choices), named
