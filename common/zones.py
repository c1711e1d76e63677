"""The time zones that a person may choose from."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones


@cache
def known() -> frozenset[str]:
    """Every IANA name that this machine knows; read once a process, since it walks files."""
    return frozenset(available_timezones())


@cache
def offered() -> list[str]:
    """The names worth offering: places and UTC, without the database's old aliases and fixed offsets."""
    return ["UTC", *sorted(name for name in known() if "/" in name and not name.startswith(("Etc/", "posix/")))]
