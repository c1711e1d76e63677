"""Tables for a terminal, and counts that must be exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Count:
    what: str
    expected: int
    found: int

    @property
    def exact(self) -> bool:
        return self.found == self.expected

    def __str__(self) -> str:
        return f"{self.what}: {self.found}" + ("" if self.exact else f", expected {self.expected}")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Left-aligned columns, two spaces in from the margin."""
    cells = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    cells.insert(1, ["─" * width for width in widths])
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def milliseconds(duration: timedelta) -> str:
    """ "42 ms", "1.2 s"."""
    seconds = duration.total_seconds()
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def say(line: str = "") -> None:
    """Print at once, also to a pipe."""
    print(line, flush=True)
