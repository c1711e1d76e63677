"""Periodic tasks that beat sends only while they have something to do, so that an idle installation costs little."""

from collections.abc import Callable

from common.database import postgres

NEEDED: dict[str, Callable[[], str]] = {}
"""By the name of a task, the SQL of rows for which it has something to do. The apps' `tasks` modules fill it."""


def needed() -> set[str]:
    """The tasks of `NEEDED` that have something to do now, in one statement."""
    result = [f"SELECT '{task}' AS task WHERE EXISTS ({rows()})" for task, rows in NEEDED.items()]
    return {row.task for row in postgres.execute(" UNION ALL ".join(result), {})}
