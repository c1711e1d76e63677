"""Find the row of a person that SQL damaged so that it cannot be read, after a page or a call of the API has failed.

No column is read in Python. It costs one statement for each table of people's rows, and looks at their newest rows.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Case, Q, Value, When
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database.checks import READABLE, TOO_DEEP, TOO_LONG, sql
from common.database.encryption import hashed
from common.database.postgres import blames_no_row
from people.account import rows
from people.models import ApiToken, Session

_NEWEST = 1_000  # of each table

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    table: str
    column: str
    key: Any

    def __str__(self) -> str:
        """The sentence for its person and for operators."""
        text = _("The column %(column)s of the row %(row)s in %(table)s holds a value that cannot be read.")
        return text % {"column": self.column, "row": self.key, "table": self.table}


def find(request: HttpRequest, error: BaseException | None) -> Damage | None:
    """The first damaged row of the person who asks, those that the address names before others."""
    try:
        if not isinstance(error, Exception) or blames_no_row(error) or (person_id := _person_of(request)) is None:
            return None
        named = request.resolver_match.kwargs.values() if request.resolver_match else ()
        result = next(_damaged(person_id, [key for key in named if isinstance(key, UUID)]), None)
    except Exception as failure:  # the database may be away by now
        log.warning("Damaged rows were not searched: %s", type(failure).__name__)
        return None
    if result is not None:
        log.error("%s %s, %s cannot be read: %s", result.table, result.key, result.column, type(error).__name__)
    return result


def _person_of(request: HttpRequest) -> int | None:
    """The owner of this session or token, also if that row or the person's is the damaged one."""
    kind, _space, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        its = ApiToken.objects.filter(hashed=hashed(token.strip()), revoked_at=None)
        return its.values_list("user_id", flat=True).first()
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    session = Session.objects.filter(session_key=key, expire_date__gt=timezone.now())
    return session.values_list("user_id", flat=True).first()


def _damaged(person_id: int, named: list[UUID]) -> Iterator[Damage]:
    for model, chain in rows.tables().items() if named else ():
        if isinstance(model._meta.pk, models.UUIDField):
            yield from _damaged_in(model, chain, person_id, named)
    for model, chain in rows.tables().items():
        yield from _damaged_in(model, chain, person_id)


def _damaged_in(
    model: type[models.Model], chain: Sequence[rows.Key], person_id: int, keys: list[UUID] | None = None
) -> Iterator[Damage]:
    """The first one in a table, among the rows of these keys; without them, among the newest."""
    if not (conditions := _conditions(model)):
        return
    path = "__".join(key.name for key in chain) or "pk"
    theirs = model._base_manager.filter(**{path: person_id})
    among = keys or theirs.order_by("-pk").values("pk")[:_NEWEST]
    column = Case(*(When(condition, then=Value(name)) for name, condition in conditions))
    result = theirs.filter(pk__in=among).annotate(damaged_column=column).exclude(damaged_column=None)
    for key, name in result.values_list("pk", "damaged_column")[:1]:
        # The key of a session is its secret.
        yield Damage(model._meta.db_table, name, key if isinstance(key, int | UUID) else "…")


@cache
def _conditions(model: type[models.Model]) -> tuple[tuple[str, Q], ...]:
    """By column, what Python or our code cannot read of it."""
    result = []
    for field in model._meta.concrete_fields:
        name, column = field.name, str(field.column)
        if isinstance(field, models.DateField):  # also of instants
            first, last = (f"{limit:%Y-%m-%d}".rjust(10, "0") for limit in READABLE)
            result.append((column, Q(sql(name, f"%(expressions)s NOT BETWEEN '{first}' AND '{last}'"))))
        elif isinstance(field, models.TimeField):
            result.append((column, Q(sql(name, "%(expressions)s = '24:00'"))))
        elif isinstance(field, models.JSONField):
            paths = " OR ".join(f"%(expressions)s @? '{path}'" for path in (TOO_DEEP, TOO_LONG))
            kind = {dict: "object", list: "array"}.get(field.default)
            other = f" OR jsonb_typeof(%(expressions)s) <> '{kind}'" if kind else ""
            result.append((column, Q(sql(name, f"({paths}{other})"))))
        elif isinstance(field, ArrayField):
            result.append((column, Q(sql(name, "EXISTS (SELECT FROM unnest(%(expressions)s) one WHERE one IS NULL)"))))
    return tuple(result)
