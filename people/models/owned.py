"""Rows that belong to an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.db.models import Q
from django.http import Http404

from people.models.user import User

Row = TypeVar("Row", bound=models.Model, covariant=True)


class NotOwned(Http404):
    """`rows` are those with the values that were asked for, of whatever owner."""

    def __init__(self, rows: OwnedQuerySet[Any]) -> None:
        super().__init__()
        self.rows = rows

    def other_account(self, person: User) -> User | None:
        """The account of such a row that the person may act for: they themself, or a team of theirs."""
        accounts = User.objects.filter(Q(pk=person.pk) | Q(members__person=person), is_active=True)
        return accounts.filter(pk__in=self.rows.values(self.rows.owner)).first()


class OwnedQuerySet(models.QuerySet[Row]):
    """`visible` are the conditions of rows that their owner sees, such as that they are not deleted."""

    owner = "user"
    visible: ClassVar[Mapping[str, Any]] = {}

    def for_user(self, user: User) -> Self:
        """The rows that `user` sees: their own, less those removed."""
        return self.filter(**{self.owner: user}, **self.visible)

    def deleted_of(self, user: User) -> Self:
        """The rows that `user` has deleted, and may restore."""
        return self.filter(**{self.owner: user}, deleted_at__isnull=False)

    def written(self, key: str) -> Row | None:
        """The one with this id, as an address or a form has it; None also for what is not an id."""
        try:
            return self.filter(pk=UUID(key)).first()
        except ValueError:
            return None

    def own(self, user: User, **which: Any) -> Row:
        """The one row of `user` with these values. Raises NotOwned, a 404, also for a row of somebody else."""
        try:
            return self.for_user(user).get(**which)
        except ObjectDoesNotExist:
            raise NotOwned(self.filter(**which, **self.visible)) from None
