"""Statements that PostgreSQL plans once a connection, for those that every delivery pays for.

Django writes the values into the text of a statement, so each one is a new one to PostgreSQL; planning a claim, which
touches five tables, takes longer than carrying it out. Here the values travel beside the text (psycopg's server-side
binding), and psycopg has the server keep the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper

# psycopg also counts the statements that it does not prepare, by their whole text; those of a clock's tick are long.
_REMEMBERED = 16


@contextmanager
def cursor() -> Iterator[CursorWrapper]:
    """A cursor on Django's connection, with its errors. For few statements, whose text never changes.

    Where Django keeps a log of statements, it is Django's own cursor, which can say what was sent.
    """
    with connection.cursor() as ordinary:  # connects, and looks whether an old connection still works
        if connection.queries_logged:
            yield ordinary
            return
        own = connection.connection
        own.prepare_threshold, own.prepared_max = 0, _REMEMBERED
        with CursorWrapper(psycopg.Cursor(own), connection) as prepared:
            yield prepared
