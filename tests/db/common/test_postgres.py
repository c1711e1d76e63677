"""Values come back from an array literal as they went in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from common.database.postgres import blames_no_row, column, is_outage
from common.uuid7 import uuid7

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
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$")
    assert (is_outage(caught.value), blames_no_row(caught.value)) == (outage, nobodys)


def test_a_connection_that_breaks_is_an_outage_and_a_value_that_python_cannot_send_is_none() -> None:
    assert is_outage(OperationalError("server closed the connection unexpectedly"))
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT %s", [object()])
    assert not is_outage(caught.value) and not blames_no_row(caught.value)
