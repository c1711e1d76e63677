"""Rows that belong to an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from django.db import models
from django.shortcuts import get_object_or_404

from people.models.user import User

Row = TypeVar("Row", bound=models.Model, covariant=True)


class OwnedQuerySet(models.QuerySet[Row]):
    """`visible` are the conditions of rows that their owner sees, such as that they are not deleted."""

    visible: ClassVar[Mapping[str, Any]] = {}

    def for_user(self, user: User) -> Self:
        """The rows that `user` sees: their own, less those removed."""
        return self.filter(user=user, **self.visible)

    def own(self, user: User, **which: Any) -> Row:
        """The one row of `user` with these values. Raises Http404, also for a row of somebody else."""
        return get_object_or_404(self.for_user(user), **which)
