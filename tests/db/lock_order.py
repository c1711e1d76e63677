"""Fails a test in which a transaction takes its locks in another order than docs/architecture.md says.

A table that the transaction has locked rows of before counts as locked: statements do not say which rows they lock.
So do rows that triggers lock, by the `locks` of a kind of work. SKIP LOCKED waits for nobody.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from common.database import postgres
from notifications.models import Delivery
from people import user_lock

PERSON, CAUSE, JOB, NOTIFICATION, DELIVERY = range(5)
RANKS = {
    "people_user": PERSON,
    "schedules_schedule": CAUSE,
    "events_rule": CAUSE,
    "events_topic": CAUSE,
    "events_event": CAUSE,
    "watches_watch": CAUSE,
    "jobs_batch": CAUSE,
    "notifications_channel": CAUSE,
    "jobs_job": JOB,
    "jobs_memory": JOB,
    "notifications_notification": NOTIFICATION,
    "notifications_delivery": DELIVERY,
}
# Neither DELETE nor the clearing of keys: that is retention, or the end of an account, which nobody uses any more.
_WRITES = re.compile(
    r'\bUPDATE\s+(?:ONLY\s+)?"?(\w+)"?(?:\s+\w+)?\s+SET\b(.*?)(?=\bWHERE\b|\bFROM\b|\bRETURNING\b|$)', re.S
)
_LOCKS = re.compile(r"\bFOR (?:NO KEY )?UPDATE\b(?:\s+OF\s+((?:\"?\w+\"?\s*,\s*)*\"?\w+\"?))?(\s+SKIP LOCKED)?")
_TABLES = re.compile(r'\b(?:FROM|JOIN)\s+"?(\w+)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?')


@lru_cache(4096)
def locks_of(statement: str) -> list[tuple[str, bool]]:
    """The tables of RANKS whose rows a statement locks, in this order, and whether it waits for them."""
    found: list[tuple[str, bool]] = []
    for lock in _LOCKS.finditer(statement):
        before = _without_parentheses(statement[: lock.start()])
        names = {alias or table: table for table, alias in _TABLES.findall(before[before.rfind("SELECT") :])}
        names |= {table: table for table in names.values()}
        chosen = re.findall(r"\w+", lock[1] or "") or list(names)
        found += [(names[one], lock[2] is None) for one in chosen if one in names]
    written = _WRITES.findall(re.sub(r'UPDATE "\w+" SET "\w+" = NULL WHERE', "", statement))
    found += [(table, True) for table, _ in written]
    found += [(one, True) for table, values in written if "settled_at" in values for one in OF_TRIGGERS.get(table, ())]
    return [(table, waits) for table, waits in found if table in RANKS]


def _without_parentheses(statement: str) -> str:
    """Without selections within, which a lock does not concern."""
    while (shorter := re.sub(r"\([^()]*\)", "", statement)) != statement:
        statement = shorter
    return statement


def _parents(model: Any) -> list[str]:
    return [model._meta.get_field(key).related_model._meta.db_table for key in model.locks]


# What the triggers of an end lock.
OF_TRIGGERS = {Delivery._meta.db_table: _parents(Delivery)}


class Transaction(threading.local):
    """The statements of this thread's transaction that took locks, by table."""

    def __init__(self) -> None:
        self.depth = 0
        self.held: dict[str, str] = {}

    def take(self, statement: str) -> None:
        held = self.held if self.depth else {}
        for table, waits in locks_of(statement):
            after = [one for one in held if waits and table not in held and RANKS[one] > RANKS[table]]
            assert not after, f"{table} is locked after {after}:\n{statement}\nafter:\n{held[after[0]]}"
            held.setdefault(table, statement)


@contextmanager
def watched() -> Iterator[Transaction]:
    """For this thread's connection, and for the statements of `postgres.execute`."""
    atomic, current = transaction.Atomic, Transaction()
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
        # Outside of a transaction, a test prepares its rows. A dry run is rolled back.
        if current.depth > 0 and not user_lock.is_dry_run():
            current.take(sql)
        return execute(sql, *rest)

    class Cursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, *rest: Any, **named: Any) -> Any:
            current.take(query)
            return super().execute(query, *rest, **named)

    class Psycopg:
        Cursor: Any = None

        def __getattr__(self, name: str) -> Any:
            return getattr(psycopg, name)

    Psycopg.Cursor = Cursor
    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(note):
        patch.setattr(atomic, "__enter__", begin)
        patch.setattr(atomic, "__exit__", end)
        patch.setattr(postgres, "psycopg", Psycopg())
        yield current
