"""Find the row of a person that SQL damaged so that it cannot be read, after a page or a call of the API has failed.

No column is read in Python. It costs one statement for each table of people's rows, and looks at their newest rows.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database.checks import READABLE, TOO_DEEP, TOO_LONG
from common.database.encryption import hashed
from common.database.postgres import blames_no_row, query
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
    for model in rows.tables() if named else ():
        if isinstance(model._meta.pk, models.UUIDField):
            yield from _damaged_in(model, person_id, named)
    for model in rows.tables():
        yield from _damaged_in(model, person_id)


def _damaged_in(model: type[models.Model], person_id: int, keys: list[UUID] | None = None) -> Iterator[Damage]:
    """The first one in a table, among the rows of these keys; without them, among the newest."""
    if (statement := _statement(model, bool(keys))) is None:
        return
    for row in query(statement, {"person": person_id, "keys": keys, "newest": _NEWEST}):
        # The key of a session is its secret.
        yield Damage(model._meta.db_table, row.damaged, row.key if isinstance(row.key, int | UUID) else "…")


@cache
def _statement(model: type[models.Model], has_keys: bool) -> str | None:
    """Plain SQL: Django takes ten times as long to compile these statements as PostgreSQL to execute them."""
    columns = " ".join(f"WHEN {condition} THEN '{column}'" for column, condition in _conditions(model))
    if not columns:
        return None
    table, chain = model._meta.db_table, rows.tables()[model]
    source, keys = table, [f"{table}.{field.column}" for field in model._meta.pk_fields]
    for one in chain[:-1]:
        parent = one.related_model._meta.db_table
        source += f" JOIN {parent} ON {parent}.{one.target_field.column} = {one.model._meta.db_table}.{one.column}"
    owner = f"{chain[-1].model._meta.db_table}.{chain[-1].column}" if chain else keys[0]
    among = f"AND {keys[0]} = ANY(%(keys)s)" if has_keys else f"ORDER BY {' DESC, '.join(keys)} DESC LIMIT %(newest)s"
    return f"""
        SELECT * FROM (
            SELECT {keys[-1]} AS key, CASE {columns} END AS damaged FROM {source} WHERE {owner} = %(person)s {among}
        ) AS one WHERE damaged IS NOT NULL LIMIT 1
    """  # noqa: S608


def _conditions(model: type[models.Model]) -> Iterator[tuple[str, str]]:
    """By column, what Python or our code cannot read of it."""
    for field in model._meta.concrete_fields:
        column = str(field.column)
        name = f'{model._meta.db_table}."{column}"'
        if isinstance(field, models.DateField):  # also of instants
            first, last = (f"{limit:%Y-%m-%d}".rjust(10, "0") for limit in READABLE)
            yield column, f"{name} NOT BETWEEN '{first}' AND '{last}'"
        elif isinstance(field, models.TimeField):
            yield column, f"{name} = '24:00'"
        elif isinstance(field, models.JSONField):
            paths = " OR ".join(f"{name} @? '{path}'" for path in (TOO_DEEP, TOO_LONG))
            kind = {dict: "object", list: "array"}.get(field.default)
            other = f" OR jsonb_typeof({name}) <> '{kind}'" if kind else ""
            yield column, f"({paths}{other})"
        elif isinstance(field, ArrayField):
            yield column, f"EXISTS (SELECT FROM unnest({name}) one WHERE one IS NULL)"
