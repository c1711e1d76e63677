"""Delete an account: the request switches it off at once, and a task deletes its rows in chunks.

Each chunk is a transaction, and the account's own row is the last. So a task that is killed goes on where it was.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, connection, models, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from common.database.postgres import blames_no_row
from common.forms.not_possible import NotPossible
from people import teams
from people.account.rows import Key, attached, children, goes_with_parent, references
from people.models import User
from people.user_lock import lock_user

CHUNK = 1_000
"""Rows of a table for each transaction."""
_BUDGET = 25.0  # seconds; the task comes again

FIRST: list[Callable[[int], object]] = []
"""Steps of other apps before an account is deleted, by its id. Repeating it must change nothing."""

log = logging.getLogger(__name__)


def request(user: User) -> None:
    """Switch the account off and have it deleted. Raises NotPossible for the last operator, or owner of a team."""
    with lock_user(user):
        if user.is_superuser:
            others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
            if not others.select_for_update(no_key=True).exists():
                raise NotPossible(
                    _(
                        "This is the account of the only operator. Make somebody else a superuser in the admin, "
                        "then delete it."
                    )
                )
        teams.leave_all(user)
        User.objects.filter(pk=user.pk).update(is_active=False, deletion_asked_at=Now())


def delete_requested() -> int:
    """Delete accounts whose people asked for it, within `_BUDGET`. Returns how many are gone.

    One that cannot be deleted stops no other.
    """
    deadline = time.monotonic() + _BUDGET
    gone = 0
    for user_id in User.objects.filter(deletion_asked_at__isnull=False).values_list("pk", flat=True):
        if time.monotonic() > deadline:
            break
        try:
            gone += _delete(user_id, deadline)
        except Exception as error:
            if blames_no_row(error):
                raise
            log.error("Account %s cannot be deleted: %s", user_id, type(error).__name__)
    return gone


def _delete(user_id: int, deadline: float) -> bool:
    """Whether the account is gone; False if there was no time, or something new came meanwhile."""
    for prepare in FIRST:
        prepare(user_id)
    try:
        for key in children(User):
            _delete_rows(key, [user_id], deadline)
        with transaction.atomic():
            about = LogEntry.objects.filter(
                content_type=ContentType.objects.get_for_model(User), object_id=str(user_id)
            )
            about.update(object_repr=f"deleted account {user_id}")
            _clear(User, [user_id])
            _delete_where(User._meta.pk, [user_id])
    except (_NoTime, IntegrityError) as later:
        log.info("The deletion of account %s goes on later (%s)", user_id, type(later).__name__)
        return False
    log.info("Account %s is deleted", user_id)
    return True


class _NoTime(Exception):
    """The task's time is up."""


def _delete_rows(key: Key, parents: Sequence[Any], deadline: float) -> None:
    """Delete the rows that refer to `parents` by `key`, with all that belongs to them."""
    model = key.model
    while True:
        if time.monotonic() > deadline:
            raise _NoTime
        if not (children(model) or references(model) or attached(model)):
            if not _delete_where(key, parents, CHUNK):
                return
            continue
        rows = model._base_manager.filter(**{f"{key.attname}__in": parents}).order_by()
        if not (ids := list(rows.values_list("pk", flat=True)[:CHUNK])):
            return
        for child in children(model):
            if not goes_with_parent(child.model):
                _delete_rows(child, ids, deadline)
        _delete_chunk(model, ids)


@transaction.atomic
def _delete_chunk(model: type[models.Model], ids: Sequence[Any]) -> None:
    """Delete these rows, and what goes with them in one transaction."""
    for child in children(model):
        if goes_with_parent(child.model):
            _delete_where(child, ids)
    _clear(model, ids)
    rows = model._base_manager.filter(pk__in=ids)
    others = {one: list(rows.values_list(one.attname, flat=True)) for one in attached(model)}
    _delete_where(model._meta.pk, ids)
    for one, targets in others.items():
        _delete_where(one.target_field, [target for target in targets if target is not None])


def _delete_where(field: Any, values: Sequence[Any], most: int | None = None) -> int:
    """Delete rows of the field's table that have one of these values, `most` of them. Returns how many."""
    quote = connection.ops.quote_name
    table, column = quote(field.model._meta.db_table), quote(field.column)
    selected = f"SELECT ctid FROM {table} WHERE {column} = ANY(%s) LIMIT %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE ctid = ANY(ARRAY({selected}))", [list(values), most])  # noqa: S608
        return int(cursor.rowcount)


def _clear(model: type[models.Model], ids: Sequence[Any]) -> None:
    """Rows that stay no longer refer to these."""
    for key in references(model):
        key.model._base_manager.filter(**{f"{key.attname}__in": ids}).update(**{key.attname: None})
