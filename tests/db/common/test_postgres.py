"""Values come back from an array literal as they went in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection

from common.postgres import column
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
