"""Statements that PostgreSQL plans once a connection, for those that every delivery pays for.

Django writes the values into the text of a statement, so each one is a new one to PostgreSQL; planning a claim, which
touches five tables, takes longer than carrying it out. Here the values travel beside the text (psycopg's server-side
binding), and psycopg has the server keep the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

# psycopg also counts the statements that it does not prepare, by their whole text; those of a clock's tick are long.
_REMEMBERED = 16


def execute(statement: str, values: Mapping[str, Any]) -> Any:
    """The cursor, as Django's would be after `execute`, with its errors. For few statements, whose text never changes.

    Where Django keeps a log of statements, they go through its own cursor, which can say what was sent.
    """
    database = connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    if database.queries_logged:
        logged = database.cursor()
        logged.execute(statement, values)
        return logged
    own = database.connection
    own.prepare_threshold, own.prepared_max = 0, _REMEMBERED
    with database.wrap_database_errors:
        return psycopg.Cursor(own).execute(statement, values)
