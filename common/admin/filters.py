"""Filters over rows whose key is a time-ordered UUID, so that the primary key's index says what is recent."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

PERIODS = {
    "hour": ("Past hour", timedelta(hours=1)),
    "day": ("Past 24 hours", timedelta(days=1)),
    "week": ("Past 7 days", timedelta(days=7)),
    "month": ("Past 30 days", timedelta(days=30)),
}
# A filter that no index serves looks at so many rows at most.
NEWEST = 100_000


class Period(SimpleListFilter):
    """By when a row was recorded, or by an instant that is indexed (`column`)."""

    title = "when"
    parameter_name = "when"
    column = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in PERIODS:
            return queryset
        since = timezone.now() - PERIODS[str(self.value())][1]
        return queryset.filter(**({f"{self.column}__gte": since} if self.column else {"pk__gte": first_key(since)}))


class Newest(SimpleListFilter):
    """By the value of `parameter_name`: among the newest rows only, save for values that an index serves."""

    indexed: ClassVar[tuple[str, ...]] = ()

    def options(self) -> list[tuple[str, str]]:
        """The values, and what people call them."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label if value in self.indexed else of_the_newest(label)) for value, label in self.options()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        queryset = queryset.filter(**{str(self.parameter_name): value})
        return queryset if value in self.indexed else newest(queryset)


def of_the_newest(label: str) -> str:
    """What a filter that looks no further is called, so that nobody takes its answer for the whole."""
    return f"{label}, of the newest {NEWEST:,}"


def newest(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Those of `rows` that are among the table's newest."""
    oldest = rows.model._default_manager.order_by("-pk").values("pk")[NEWEST - 1 : NEWEST]
    return rows.filter(pk__gte=Coalesce(Subquery(oldest), Value(UUID(int=0))))


def first_key(instant: datetime) -> UUID:
    """The lowest UUID of version 7 that could have been made at `instant`."""
    return UUID(int=int(instant.timestamp() * 1000) << 80)
