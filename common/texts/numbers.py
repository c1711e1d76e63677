"""Numbers in the active language."""

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.functional import lazy


def grouped(count: int, most: int | None = None) -> str:
    """ "12,345", or "12.345" in German; "100,000+" where counting stopped at `most`."""
    return number_format(count, force_grouping=True) + ("+" if count == most else "")


def amount(number: str, unit: str) -> str:
    """ "1,299.00 EUR", "1,299 kg"."""
    has_cents = (len(unit) == 3 and unit.isupper()) or unit in ("$", "kr")
    places = max(2, len(number.partition(".")[2])) if has_cents else None
    return f"{number_format(Decimal(number), places, force_grouping=True)} {unit}".rstrip()


grouped_lazy = lazy(grouped, str)
