"""A time of day as it is said: "18:00", "6pm", "noon", "half past 8"."""

from __future__ import annotations

from datetime import time

from schedules.quick_add import english
from schedules.quick_add.english import NotUnderstood
from schedules.quick_add.tokens import Tokens


def read(tokens: Tokens, is_expected: bool) -> time | None:
    """A time of day at the cursor; a bare number only where a time is expected."""
    begin = tokens.at
    if tokens.peek() in english.NAMED_TIMES:
        tokens.at += 1
        return english.NAMED_TIMES[tokens.lower[begin]]
    if tokens.peek() in english.HALF | english.QUARTER and tokens.peek(1) in english.PAST | english.TO:
        minutes = 30 if tokens.take(english.HALF) else 15
        tokens.take(english.QUARTER)
        is_past = tokens.take(english.PAST)
        tokens.at += not is_past
        hour = tokens.number()
        if hour is None or not 1 <= hour <= 12:
            return None
        return time(hour % 24, minutes) if is_past else time(hour - 1, 60 - minutes)
    written = tokens.peek()
    if not written[:1].isdigit():
        return None
    tokens.at += 1
    half = "pm" if "p" in written else "am" if "a" in written else ""
    digits = written.rstrip("apm. ")
    hour_text, dot, minute_text = digits.replace(".", ":").partition(":")
    if not hour_text.isdecimal() or (minute_text and not minute_text.isdecimal()) or len(hour_text) > 2:
        return None
    if dot and not minute_text:
        return None
    if "." in digits and not (is_expected or half):
        return None
    is_bare = not dot and not half and not tokens.take(english.OCLOCK)
    if is_bare and (not is_expected or tokens.peek() in english.UNITS or tokens.peek() in english.TIMES):
        return None
    hour, minute = int(hour_text), int(minute_text or 0)
    if (half and not 1 <= hour <= 12) or hour > 23 or minute > 59:
        raise NotUnderstood("time", tokens.text(begin))
    return time(hour % 12 + 12 * (half == "pm") if half else hour, minute)
