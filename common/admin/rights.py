"""The accounts that a member of staff may act on: never those with more rights than their own."""

from collections.abc import Callable
from typing import Any, cast

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser, Permission
from django.core.checks import Error
from django.core.exceptions import FieldError
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.sql import Query
from django.http import HttpRequest

_HINT = "Inherit BaseAdmin, and set `owner` to the lookups to the account, such as notification__user; '' for nobody's."


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


def rows_within(request: HttpRequest, rows: QuerySet[Any], owner: str) -> QuerySet[Any]:
    """Those of `rows` that the signed-in user may act on, as `may_act_on` decides for one."""
    actor = cast(AbstractUser, request.user)
    if not owner or (actor.is_active and actor.is_superuser):
        return rows
    return rows.filter(Q(**{f"{owner}__in": accounts_within(actor)}) | Q(**{owner: None}))


def may_act_on(request: HttpRequest, row: Any, owner: str) -> bool:
    """Whether the operator may change `row`, whose owner stands at the path `owner`; an account's is "pk".

    Rows without an owner are allowed. Only the stored owner counts, not one that a form has set on `row`.
    """
    if row is None or not owner:
        return True
    stored = type(row)._default_manager.filter(pk=row.pk)
    return rows_within(request, stored, owner).exists() or not stored.exists()


def may_see(model: str) -> Callable[[HttpRequest], bool]:
    """Whether the signed-in user may view or change rows of the model, such as "jobs.job"."""
    app, name = model.split(".")
    return lambda request: any(request.user.has_perm(f"{app}.{verb}_{name}") for verb in ("view", "change"))


def check_owners(**_: object) -> list[Error]:
    """Each admin names the path to the owner of its rows. One that does not would let staff act on anybody's."""
    errors = []
    for model in filter(admin.site.is_registered, apps.get_models()):
        model_admin = admin.site.get_model_admin(model)
        of_people = [field.name for field in model._meta.fields if field.related_model is get_user_model()]
        if (owner := getattr(model_admin, "owner", None)) is None:
            errors.append(Error(f"{model_admin} names no owner.", hint=_HINT, obj=model, id="common.E001"))
        elif owner == "" and of_people:
            text = f"{model_admin} says that its rows are nobody's, but they have a {of_people[0]}."
            errors.append(Error(text, hint=_HINT, obj=model, id="common.E002"))
        elif owner and not _leads_to_account(model, owner):
            text = f"The owner of {model_admin}, “{owner}”, leads to no account."
            errors.append(Error(text, hint=_HINT, obj=model, id="common.E003"))
    return errors


def _leads_to_account(model: type[Model], owner: str) -> bool:
    try:
        _, field, _, rest = Query(model).names_to_path(owner.split("__"), model._meta)
    except FieldError:
        return False
    return not rest and (field.related_model or (field.primary_key and model)) is get_user_model()
