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


def _find_models_to_render(self: ProjectState, app_label: str, model_name: str, delay: bool = False) -> set[Any]:
    """The models to render again after a change of one of them: that one, and what refers to it.

    Django also renders what it refers to, and what refers to that: for nearly each operation all models of a person.
    """
    model = self.apps.all_models[app_label].get(model_name)
    # As Django does for a new model or name, and in a copied state, as to migrate backwards.
    if model is None or model._meta.apps is not self.apps:
        return _stock(self, app_label, model_name, delay)
    self.is_delayed = True  # so that RunPython renders all models first: reverse accessors are not renewed here
    return _referrers(model)


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


# Replaced, since migrations and their executor name the class: no subclass could be in its place.
_state: Any = ProjectState
_stock, _state._find_reload_model = _state._find_reload_model, _find_models_to_render
