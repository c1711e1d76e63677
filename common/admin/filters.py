"""Filters for tables with time-ordered UUIDs, so that the index of the primary key finds recent rows."""

from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from common import uuid7
from common.texts.numbers import grouped

PERIODS = {
    "hour": (gettext_lazy("Past hour"), timedelta(hours=1)),
    "day": (gettext_lazy("Past 24 hours"), timedelta(days=1)),
    "week": (gettext_lazy("Past 7 days"), timedelta(days=7)),
    "month": (gettext_lazy("Past 30 days"), timedelta(days=30)),
}
# A filter without an index reads at most this many rows.
NEWEST = 20_000


class Period(SimpleListFilter):
    """By the creation time in the primary key, or by an indexed instant (`column`)."""

    title = gettext_lazy("when")
    parameter_name = "when"
    column = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, str(label)) for name, (label, _length) in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in PERIODS:
            return queryset
        since = timezone.now() - PERIODS[str(self.value())][1]
        condition = {f"{self.column}__gte": since} if self.column else {"pk__gte": uuid7.first_of(since)}
        return queryset.filter(**condition)


def newest_filter(
    name: str,
    choices: Callable[[], Iterable[tuple[str, Any]]],
    indexed: Collection[str] = (),
    condition: Callable[[str], Q] | None = None,
) -> type[SimpleListFilter]:
    """A filter by the column `name`, among the newest rows only, except for the values `indexed`, which have an index.

    `choices` gives pairs of a value and its label; `condition` what a value selects, if not that value of the column.
    """

    class Newest(SimpleListFilter):
        title = gettext_lazy(name)
        parameter_name = name

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            limited = _("%(label)s, of the newest %(count)s")
            return [
                (value, str(label) if value in indexed else limited % {"label": label, "count": grouped(NEWEST)})
                for value, label in choices()
                if value
            ]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if (value := self.value()) is None:
                return queryset
            queryset = queryset.filter(condition(value) if condition else Q(**{name: value}))
            return queryset if value in indexed else newest(queryset)

    return Newest


def newest(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The `rows` that are among the newest of the table. One statement.

    It is not a subquery: PostgreSQL would expect a third of the table above an unknown key, and read all of it.
    """
    keys = rows.model._default_manager.order_by("-pk").values_list("pk", flat=True)
    oldest = keys[NEWEST - 1 : NEWEST].first()
    return rows if oldest is None else rows.filter(pk__gte=oldest)
