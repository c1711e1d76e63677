"""Lengths of time in words."""

from datetime import timedelta
from itertools import pairwise

from django.utils.translation import pgettext, pgettext_lazy

_UNITS = (
    (pgettext_lazy("length of time", "%(count)d d"), 86_400),
    (pgettext_lazy("length of time", "%(count)d h"), 3_600),
    (pgettext_lazy("length of time", "%(count)d min"), 60),
    (pgettext_lazy("length of time", "%(count)d s"), 1),
)


def in_words(length: timedelta) -> str:
    """ "0.02 s", "45 s", "1 h 30 min", "2 d 3 h": in the two largest units, rounded down."""
    if (seconds := length.total_seconds()) < 10:
        return pgettext("length of time", "%(count)s s") % {"count": f"{seconds:.2f}".rstrip("0").rstrip(".")}
    for (large, size), (small, part) in pairwise(_UNITS):
        if seconds >= size:
            rest = int(seconds % size // part)
            return large % {"count": int(seconds // size)} + (f" {small % {'count': rest}}" if rest else "")
    return str(_UNITS[-1][0] % {"count": int(seconds)})
