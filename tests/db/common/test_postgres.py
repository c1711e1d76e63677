"""Arrays of values, what an error says, and a database that goes away for a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import DatabaseError, OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from common.database import postgres
from common.database.postgres import blames_no_row, column, is_locked, is_lost_statement, is_outage
from common.uuid7 import uuid7
from notifications.models import Channel
from people.models import User
from schedules.models import Schedule
from tests.make import make_channel, make_schedule, make_user

TEXTS = [
    "plain",
    "",
    "NULL",
    'a "quoted" word',
    "back\\slash",
    "{a,b}",
    " blanks ",
    "line\nbreak",
    "ünïcödé €",
    "%s %%",
]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("text", [*TEXTS, None]),
        ("uuid", [uuid7(), None, uuid7()]),
        ("int", [None, 0, -7, 2**31 - 1]),
        ("bool", [True, False, None]),
        (
            "timestamptz",
            [
                datetime(2026, 6, 1, 9, 0, 0, 123456, tzinfo=UTC),
                datetime(2026, 6, 1, 9, tzinfo=timezone(timedelta(hours=5, minutes=45))),
                None,
            ],
        ),
        ("text", []),
        ("int", [None, None]),
    ],
)
def test_values_come_back_as_they_went_in(type_: str, values: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM unnest(%s::{type_}[])", [column(values)])  # noqa: S608 - the types above
        assert [row[0] for row in cursor.fetchall()] == values


def failed(code: str) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$")
    return caught.value


@pytest.mark.parametrize(
    ("code", "outage", "nobodys"),
    [
        ("08006", True, True),  # the connection is lost
        ("25006", True, True),  # a read-only standby
        ("53300", True, True),  # too many connections
        ("57P01", True, True),  # shutting down
        ("40P01", False, True),  # a deadlock
        ("26000", False, True),  # a prepared statement that a pooler has lost
        ("42P05", False, True),  # one that is there already
        ("34000", False, True),  # a cursor that is gone
        ("28000", False, True),  # a role that may not
        ("3D000", False, True),  # no such database
        ("42P01", False, True),  # no such table: not migrated
        ("42703", False, True),  # no such column
        ("22P02", False, False),  # a value that cannot be read
        ("23514", False, False),  # a row that a constraint refuses
        ("54000", False, False),  # a value that is too large for an index
    ],
)
def test_an_error_is_an_outage_by_its_code(code: str, outage: bool, nobodys: bool) -> None:
    error = failed(code)
    assert (is_outage(error), blames_no_row(error)) == (outage, nobodys)


def test_a_connection_that_breaks_is_an_outage_and_a_value_that_python_cannot_send_is_none() -> None:
    assert is_outage(OperationalError("server closed the connection unexpectedly"))
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT %s", [object()])
    assert not is_outage(caught.value) and not blames_no_row(caught.value)


@pytest.mark.parametrize(
    ("code", "locked", "lost"),
    [
        ("55P03", True, False),
        ("40P01", True, False),
        ("26000", False, True),
        ("08P01", False, True),
        ("57P01", False, False),
    ],
)
def test_an_error_says_whether_a_lock_or_a_prepared_statement_was_in_the_way(
    code: str, locked: bool, lost: bool
) -> None:
    error = failed(code)
    assert (is_locked(error), is_lost_statement(error)) == (locked, lost)
    assert (is_locked(None), is_lost_statement(None), is_outage(None)) == (False, False, False)


def test_a_task_that_must_stop_blames_no_row() -> None:
    assert blames_no_row(SoftTimeLimitExceeded())
    assert not blames_no_row(ValueError())


class Away:
    """A statement that breaks its connection a few times, or ends with another error; the waits between its tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, breaks: int, in_transaction: bool = False) -> None:
        self.now, self.waits, self.closed, self.left = 100.0, [], 0, breaks  # type: float, list[float], int, int
        monkeypatch.setattr(postgres, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        monkeypatch.setattr(postgres, "connection", SimpleNamespace(in_atomic_block=in_transaction, close=self.close))

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def close(self) -> None:
        self.closed += 1

    def __call__(self) -> str:
        self.left -= 1
        if self.left >= 0:
            raise OperationalError("server closed the connection unexpectedly")
        return "done"


def test_a_statement_is_run_again_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Away(monkeypatch, 7)
    assert postgres.persist(away) == "done"
    assert away.waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert away.closed == 7


def test_after_a_break_the_second_statement_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert postgres.persist(Away(monkeypatch, 1), lambda: "again") == "again"
    assert postgres.persist(Away(monkeypatch, 0), lambda: "again") == "done"


def test_a_database_that_stays_away_is_given_up_after_25_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Away(monkeypatch, 1_000)
    with pytest.raises(OperationalError):
        postgres.persist(away)
    assert 25.0 <= sum(away.waits) < 26.0
    assert away.closed == len(away.waits) + 1


def test_within_a_transaction_and_for_a_locked_row_nothing_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    timed_out = OperationalError()
    timed_out.__cause__ = LockNotAvailable()

    def locked() -> None:
        raise timed_out

    away = Away(monkeypatch, 1, in_transaction=True)
    with pytest.raises(OperationalError):
        postgres.persist(away)
    with pytest.raises(OperationalError):
        postgres.persist(locked)
    assert (away.waits, away.closed) == ([], 0)
    Away(monkeypatch, 0)
    with pytest.raises(OperationalError):
        postgres.persist(locked)


def test_a_connection_is_lent_only_where_a_pool_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[tuple[bool, bool]] = []
    for pool, in_transaction in ((True, False), (True, True), (False, False)):
        settings = {"OPTIONS": {"pool": {}} | ({"pool": {"max_size": 4}} if pool else {})}
        fake = SimpleNamespace(
            settings_dict=settings,
            in_atomic_block=in_transaction,
            close=lambda given=(pool, in_transaction): closed.append(given),
        )
        monkeypatch.setattr(postgres, "connection", fake)
        postgres.lend_connection()
    assert closed == [(True, False)]


@pytest.mark.django_db
@pytest.mark.parametrize("model", [User, Channel, Schedule])
def test_the_instance_of_a_row_is_what_a_queryset_reads(model: Any) -> None:
    person = make_user(weekly_hours={"fri": ["08:00", "01:00"]})
    make_schedule(person, [make_channel(person, "webhook")], data={"room": "kitchen"}, tags=["home"])
    statement = f"SELECT {postgres.columns(model, 't')}, 1 FROM {model._meta.db_table} t"  # noqa: S608
    row = postgres.execute(statement, {}).fetchone()
    made, read = vars(postgres.instance(model, row)), vars(model.objects.get())
    states = made.pop("_state"), read.pop("_state")
    assert made == read and {(one.adding, one.db) for one in states} == {(False, "default")}
