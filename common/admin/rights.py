"""Which accounts a member of staff may act on: never those with more rights than their own."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser, Permission
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest


def accounts_within(actor: AbstractUser) -> QuerySet[Any]:
    """The accounts that `actor` may act on: their own, and those that are not staff and have no more rights.

    A superuser may act on all. Permissions of inactive accounts count too.
    """
    accounts = get_user_model()._default_manager
    if actor.is_active and actor.is_superuser:
        return accounts.all()
    of_actor = Permission.objects.filter(Q(user=actor) | Q(group__user=actor)).values("pk")
    owner = OuterRef("pk")
    more = Permission.objects.filter(Q(user=owner) | Q(group__user=owner)).exclude(pk__in=of_actor)
    return accounts.filter(Q(pk=actor.pk) | (Q(is_staff=False, is_superuser=False) & ~Exists(more)))


def rows_within(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Those of `rows` that the signed-in user may act on, as `may_act_on` decides for one."""
    actor = cast(AbstractUser, request.user)
    if actor.is_active and actor.is_superuser:
        return rows
    if rows.model is get_user_model():
        return rows.filter(pk__in=accounts_within(actor))
    return rows.filter(user__in=accounts_within(actor)) if _has_owner(rows.model) else rows


def may_act_on(request: HttpRequest, row: Any) -> bool:
    """Whether the operator may change `row`, an account or a row of one. Rows without an owner are allowed.

    Only the stored owner counts, not one that a form has set on `row`.
    """
    actor = cast(AbstractUser, request.user)
    if row is None or (actor.is_active and actor.is_superuser):
        return True
    if isinstance(row, get_user_model()):
        owner = row.pk
    elif _has_owner(type(row)):
        owner = type(row)._default_manager.filter(pk=row.pk).values_list("user", flat=True).first() or row.user_id
    else:
        return True
    return accounts_within(actor).filter(pk=owner).exists()


def _has_owner(model: type[Model]) -> bool:
    return any(field.name == "user" and field.related_model is get_user_model() for field in model._meta.fields)
