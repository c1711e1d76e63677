"""Public holidays and weekends of a country or one of its regions ("DE", "DE-BY"), from the package `holidays`. Pure.

The package is imported with the first question: it takes 11 MiB, and most installations never ask.
"""

from datetime import date
from functools import lru_cache
from typing import NamedTuple

# Years that the package knows for many countries. In others only weekends are known.
_FIRST, _LAST = 1970, 2100
_MOST = 200  # calendars of a year that stay in memory


class UnknownCountryError(Exception):
    """No country of this code, or no such region; `regions` are those of the country, empty without one."""

    def __init__(self, regions: tuple[str, ...] = ()) -> None:
        self.regions = regions


class _Year(NamedTuple):
    holidays: frozenset[date]
    weekend: frozenset[int]
    worked: frozenset[date]
    """Days of a weekend on which people work instead of another day."""


def read(code: str) -> str:
    """The code as it is stored: "de-by" and "DE-Bayern" are "DE-BY". Raises UnknownCountryError."""
    import holidays

    country, _, region = (part.strip() for part in code.partition("-"))
    regions = holidays.list_supported_countries().get(country.upper())
    if regions is None or len(country) != 2:
        raise UnknownCountryError
    if not region:
        return country.upper()
    aliases = holidays.country_holidays(country.upper()).subdivisions_aliases
    named = {one.lower(): one for one in regions} | {name.lower(): one for name, one in aliases.items()}
    if (existing := named.get(region.lower())) is None:
        raise UnknownCountryError(tuple(regions))
    return f"{country.upper()}-{existing}"


def is_holiday(code: str, day: date) -> bool:
    return day in _year(code, day.year).holidays


def is_working_day(code: str, day: date) -> bool:
    """Neither a weekend nor a public holiday. Without a code, or with a damaged one: Monday to Friday."""
    year = _year(code, day.year)
    if day.weekday() in year.weekend and day not in year.worked:
        return False
    return day not in year.holidays


def between(code: str, first: date, last: date) -> list[date]:
    """The public holidays from `first` to `last` that are on no weekend, in order."""
    years = (_year(code, number) for number in range(max(first.year, _FIRST), min(last.year, _LAST) + 1))
    return sorted(
        day for year in years for day in year.holidays if first <= day <= last and day.weekday() not in year.weekend
    )


@lru_cache(maxsize=_MOST)
def _year(code: str, year: int) -> _Year:
    if code and _FIRST <= year <= _LAST:
        import holidays

        country, _, region = code.partition("-")
        try:
            own = holidays.country_holidays(country, subdiv=region or None, years=year, expand=False)
        except (NotImplementedError, ValueError):
            pass
        else:
            return _Year(frozenset(own), frozenset(own.weekend), frozenset(own.weekend_workdays))
    return _Year(frozenset(), frozenset((5, 6)), frozenset())
