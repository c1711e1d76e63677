"""`migrate`, one at a time: machines that start together each run it."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.core.management.commands.migrate import Command as Stock
from django.db.migrations.state import ProjectState
from django.db.models import ForeignObjectRel, Model

from common.database.postgres import own_connection

LOCK = 0x6D_69_67_72  # of PostgreSQL's advisory locks: held by the one who migrates


class Command(Stock):
    def handle(self, *args: Any, **options: Any) -> None:
        with self._alone(options["database"]):
            super().handle(*args, **options)

    @contextmanager
    def _alone(self, database: str) -> Iterator[None]:
        """Wait until no other process migrates, then hold the lock.

        A transaction of a second connection holds it, since a pooler may change that of the migrations. It asks again
        instead of waiting in PostgreSQL, where an index that is made concurrently would wait for it.
        """
        own = own_connection(database)
        with closing(own), own.cursor() as cursor:
            own.set_autocommit(False)
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            has_written = False
            while not self._is_ours(cursor):
                if not has_written:
                    self.stderr.write("Another process migrates this database: waiting for its end.")
                has_written = True
                time.sleep(0.5)
            yield

    def _is_ours(self, cursor: Any) -> bool:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def reload_model(self: ProjectState, app_label: str, model_name: str, delay: bool = False) -> None:
    """Render a changed model of the migrations again, with what refers to it.

    Django also renders what it refers to, and what refers to that: for nearly each operation all models of a person.
    """
    if "apps" not in self.__dict__:
        return
    try:
        model = self.apps.get_model(app_label, model_name)
    except LookupError:  # it is new, or has a new name
        model = None
    if model is None or model._meta.apps is not self.apps:  # of a copied state: to migrate backwards
        _stock(self, app_label, model_name, delay)
        return
    self.is_delayed = True  # so that RunPython renders all models first: reverse accessors are not renewed here
    self._reload(_referrers(model))  # type: ignore[attr-defined]


def _referrers(model: type[Model]) -> set[tuple[str, str | None]]:
    """The keys of a model and of all that refer to it, directly or not."""
    keys, left = set(), [model]
    while left:
        one = left.pop()
        if (key := (one._meta.app_label, one._meta.model_name)) not in keys:
            keys.add(key)
            fields = one._meta.get_fields(include_hidden=True)
            left += [field.related_model for field in fields if isinstance(field, ForeignObjectRel)]
            left += one.__subclasses__()
    return keys


_stock = ProjectState.reload_model
ProjectState.reload_model = reload_model  # type: ignore[method-assign]
