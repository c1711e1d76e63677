"""The time zones that a person may choose from, the same in every process."""

from __future__ import annotations

from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError

# In the zone database, but no place: "not configured".
_NOT_A_PLACE = {"Factory"}


@cache
def known() -> frozenset[str]:
    """The IANA names of the package tzdata, which is installed wherever Carillon is; read once a process.

    Not those of the machine's own files: they differ between machines, and hold "localtime" and "posixrules".
    """
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return frozenset(names) - _NOT_A_PLACE


@cache
def offered() -> list[str]:
    """The names worth offering: places and UTC, without the database's old aliases and fixed offsets."""
    return ["UTC", *sorted(name for name in known() if "/" in name and not name.startswith("Etc/"))]


def is_damaged(name: str) -> bool:
    """Whether a stored name is that of no zone; an empty one is only not chosen yet."""
    return bool(name) and name not in known()


def read(name: str) -> ZoneInfo:
    """The zone of a stored name; UTC where it is empty or damaged, so that reading it never fails."""
    return ZoneInfo(name if name in known() else "UTC")


def validate(name: str) -> None:
    """Raise ValidationError where there is no such zone."""
    if name not in known():
        raise ValidationError(
            "There is no time zone “%(name)s”. Choose one from the list, such as Europe/Berlin.",
            params={"name": name[:60]},
            code="unknown_zone",
        )
