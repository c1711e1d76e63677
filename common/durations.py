"""Lengths of time in words."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def said(length: timedelta) -> str:
    """ "0.02 s", "45 s", "1 h 30 min", "2 d 3 h": in the two largest units, rounded down."""
    seconds = length.total_seconds()
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    for (large, size), (small, part) in pairwise(_UNITS):
        if seconds >= size:
            rest = int(seconds % size // part)
            return f"{int(seconds // size)} {large}" + (f" {rest} {small}" if rest else "")
    return f"{int(seconds)} s"
