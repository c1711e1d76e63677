"""The names of the time zones of the package tzdata, the same on every machine. Knows no Django."""

from functools import cache
from importlib import resources

# In the zone database, but not a zone: "not configured".
_NOT_A_ZONE = {"Factory"}


@cache
def known() -> frozenset[str]:
    """The IANA names in tzdata. The files of the machine differ, and contain "localtime" and "posixrules"."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return frozenset(names) - _NOT_A_ZONE
