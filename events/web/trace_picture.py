"""The picture of a trace: a bar for each row, over the time of the whole chain."""

from dataclasses import dataclass

from events.intake.trace import Row, Trace

MOST = 100
"""Rows that are drawn."""
HEIGHT = 32  # of a row, in pixels
_LEAST = 0.4  # percent of the width, so that what took no time is seen


@dataclass(frozen=True, slots=True)
class Bar:
    """`left` and `width` are in percent of the whole time, the tops in pixels; so are the places of its tries."""

    row: Row
    label_top: int
    bar_top: int
    left: float
    width: float
    tries: list[tuple[float, float]]


def bars(trace: Trace) -> list[Bar]:
    rows = trace.rows[:MOST]
    whole = max([row.ended for row in rows], default=0.0) or 1.0

    def place(begins: float, ends: float) -> tuple[float, float]:
        left = min(100 * begins / whole, 100 - _LEAST)
        return round(left, 2), round(max(_LEAST, 100 * (ends - begins) / whole), 2)

    return [
        Bar(
            row,
            number * HEIGHT + 13,
            number * HEIGHT + 18,
            *place(row.seconds, row.ended),
            tries=[place(one.seconds, one.seconds if one.ended is None else one.ended) for one in row.tries],
        )
        for number, row in enumerate(rows)
    ]
