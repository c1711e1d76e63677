"""Count the rows of a list up to a limit: nobody reads page 400, and a million rows are slow to count."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.core.paginator import Paginator

MOST = 10_000


class AtLeast(int):
    """A count that was stopped: one more than what was counted, and says "more than …"."""

    def __str__(self) -> str:
        return f"more than {int(self) - 1:,}"


def count_up_to(rows: Any, most: int) -> int:
    """The number of rows of a queryset, or an `AtLeast` once there are more than `most`."""
    count: int = rows.order_by()[: most + 1].count()
    return AtLeast(count) if count > most else count


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # generic in its stubs alone
    @cached_property
    def count(self) -> int:
        """Up to `MOST`; what lies beyond is reached by a filter, a search or a link."""
        return count_up_to(self.object_list, MOST)
