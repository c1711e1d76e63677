"""Instants and dates in addresses and hidden fields; None for a text that is neither."""

from datetime import UTC, date, datetime

from django.utils.dateparse import parse_date

from schedules.rules import civil


def instant(text: str) -> datetime | None:
    """An aware instant, in UTC."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    if value.tzinfo is None or not civil.FIRST_INSTANT <= value < civil.LAST_INSTANT:
        return None
    return value.astimezone(UTC)


def day(text: str) -> date | None:
    """A date of the calendar that has pages on both sides."""
    try:
        value = parse_date(text)
    except ValueError:
        return None
    return value if value is not None and 1971 <= value.year <= 9990 else None
