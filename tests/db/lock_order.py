"""Fails a test in which a transaction takes its locks in another order than docs/architecture.md says.

A table that the transaction has locked rows of before counts as locked: statements do not say which rows they lock.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from common.database import postgres
from people import user_lock

PERSON, CAUSE, WORK = range(3)
RANKS = {
    "people_user": PERSON,
    "schedules_schedule": CAUSE,
    "events_rule": CAUSE,
    "events_topic": CAUSE,
    "events_event": CAUSE,
    "jobs_batch": CAUSE,
    "jobs_job": WORK,
    "jobs_memory": WORK,
    "notifications_notification": WORK,
    "notifications_delivery": WORK,
}
# Neither DELETE nor the clearing of keys: that is retention, or the end of an account, which nobody uses any more.
_WRITES = re.compile(r'\bUPDATE\s+(?:ONLY\s+)?"?(\w+)"?')
_LOCKS = re.compile(r"\bFOR (?:NO KEY )?UPDATE\b(?:\s+OF\s+((?:\"?\w+\"?\s*,\s*)*\"?\w+\"?))?")
_TABLES = re.compile(r'\b(?:FROM|JOIN)\s+"?(\w+)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?')


def locked_by(statement: str) -> set[str]:
    """The tables of RANKS whose rows a statement locks."""
    no_write = r'\bDO UPDATE\b|\bFOR (NO KEY )?UPDATE\b|UPDATE "\w+" SET "\w+" = NULL WHERE'
    found = set(_WRITES.findall(re.sub(no_write, "", statement)))
    for lock in _LOCKS.finditer(statement):
        before = statement[: lock.start()]
        names = {alias or table: table for table, alias in _TABLES.findall(before[before.rfind("SELECT") :])}
        names |= {table: table for table in names.values()}
        chosen = re.findall(r"\w+", lock[1] or "") or list(names)
        found |= {names[one] for one in chosen if one in names}
    return found & RANKS.keys()


class _Transaction(threading.local):
    """The statements of this thread's transaction that took locks, by table."""

    def __init__(self) -> None:
        self.depth = 0
        self.held: dict[str, str] = {}

    def take(self, statement: str) -> None:
        new = locked_by(statement) - self.held.keys()
        for table in new:
            after = [one for one in self.held if RANKS[one] > RANKS[table]]
            assert not after, f"{table} is locked after {after}:\n{statement}\nafter:\n{self.held[after[0]]}"
        self.held |= dict.fromkeys(new, statement)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For this thread's connection, and for the statements of `postgres.execute`."""
    atomic, current = transaction.Atomic, _Transaction()
    enter, leave = atomic.__enter__, atomic.__exit__

    def begin(self: Any) -> None:
        if current.depth == 0:
            current.held.clear()
        current.depth += 1
        enter(self)

    def end(self: Any, *error: Any) -> None:
        current.depth -= 1
        leave(self, *error)

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if current.depth > 0 and not user_lock.is_dry_run():  # which is rolled back
            current.take(sql)
        return execute(sql, *rest)

    class Cursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, *rest: Any, **named: Any) -> Any:
            return note(super().execute, query, *rest, **named)

    class Psycopg:
        Cursor: Any = None

        def __getattr__(self, name: str) -> Any:
            return getattr(psycopg, name)

    Psycopg.Cursor = Cursor
    monkeypatch.setattr(atomic, "__enter__", begin)
    monkeypatch.setattr(atomic, "__exit__", end)
    monkeypatch.setattr(postgres, "psycopg", Psycopg())
    with connection.execute_wrapper(note):
        yield
