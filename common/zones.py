"""The time zones of the package tzdata, the same on every machine."""

from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from common.times.civil_time import known_zones as known

__all__ = ["FIRST_ZONE", "is_damaged", "known", "offered", "offset", "read", "validate"]

FIRST_ZONE = "Pacific/Kiritimati"
"""The zone whose clock is the first to show a time (UTC+14)."""


@cache
def offered() -> list[str]:
    """The names to offer: cities and UTC, without old aliases and fixed offsets."""
    return ["UTC", *sorted(name for name in known() if "/" in name and not name.startswith("Etc/"))]


def offset(instant: datetime, zone: ZoneInfo) -> str:
    """ "UTC+05:30", of an aware instant."""
    return f"UTC{instant.astimezone(zone).isoformat()[-6:]}"


def is_damaged(name: str) -> bool:
    """Whether a stored name is not a zone; an empty one is not chosen yet."""
    return bool(name) and name not in known()


def read(name: str) -> ZoneInfo:
    """The zone of a stored name; UTC if it is empty or damaged. Never fails."""
    return ZoneInfo(name if name in known() else "UTC")


def validate(name: str) -> None:
    """Raise ValidationError if there is no such zone."""
    if name not in known():
        raise ValidationError(
            _("There is no time zone “%(name)s”. Choose one from the list, such as Europe/Berlin."),
            params={"name": name[:60]},
            code="unknown_zone",
        )
