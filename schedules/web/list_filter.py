"""The filter and order of the list of reminders: read from its address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Lower
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from people.models import User
from schedules.explain import reach
from schedules.models import Schedule
from schedules.parts import tags

ATTENTION = "attention"
"""The filter for reminders that are broken or that do not reach everybody they should."""

_ARCHIVED = Schedule.State.ARCHIVED
# Each sorts the rows of one person, which one index finds. An index for each order would cost time at every firing.
_ORDERS: dict[str, tuple[Any, Sequence[Any]]] = {
    # What is finished last, newest first.
    "": (_("Next time"), [F("next_fire_at").asc(nulls_last=True), "-id"]),
    "name": (_("Name"), [Lower("title"), "id"]),
    "newest": (_("Newest"), ["-id"]),
    "changed": (_("Last changed"), ["-updated_at", "-id"]),
}


@dataclass(frozen=True)
class ListFilter:
    """`search` is in the title or the text; what is archived is only shown where it is asked for."""

    user: User
    search: str = ""
    state: str = ""
    tag: str = ""
    sort: str = ""

    @classmethod
    def read(cls, user: User, typed: QueryDict) -> ListFilter:
        def text(name: str) -> str:
            return typed.get(name, "").strip()[:200].replace("\0", "")

        state, sort = text("state"), text("sort")
        return cls(
            user,
            text("q"),
            state if state in {ATTENTION, *Schedule.State.values} else "",
            text("tag"),
            sort if sort in _ORDERS else "",
        )

    @property
    def is_narrow(self) -> bool:
        return bool(self.search or self.state or self.tag)

    @cached_property
    def _spellings(self) -> list[str]:
        return tags.spellings(self.user)

    @property
    def tags(self) -> list[str]:
        return tags.without_repeats(self._spellings)

    @property
    def sorts(self) -> list[tuple[str, Any]]:
        return [(name, label) for name, (label, _) in _ORDERS.items()]

    def rows(self) -> QuerySet[Schedule]:
        """The reminders in no order."""
        rows: QuerySet[Schedule] = Schedule.objects.for_user(self.user)
        if self.search:
            rows = rows.filter(Q(title__icontains=self.search) | Q(body__icontains=self.search))
        if self.tag:
            rows = rows.filter(tags.has(self.tag, self._spellings))
        if self.state == ATTENTION:
            return rows.filter(reach.needs_attention(self.user.pk))
        return rows.filter(state=self.state) if self.state else rows.exclude(state=_ARCHIVED)

    def in_order(self) -> QuerySet[Schedule]:
        return self.rows().order_by(*_ORDERS[self.sort][1])
