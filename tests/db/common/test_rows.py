"""A statement gets rows with the values and the types of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from common.database.postgres import change, query
from common.database.rows import Json, Rows
from common.uuid7 import uuid7
from notifications.models import Notification


@dataclass(frozen=True)
class Plant:
    id: UUID
    name: str
    watered_at: datetime | None
    weight: float
    pots: int
    thirsty: bool
    origin: Notification.Origin
    care: Mapping[str, Any]
    data: Json | None
    note: str = "not a column"


PLANTS = Rows("p", Plant, without=["note"], length=(int, lambda plant: len(plant.name)))
FERN = Plant(uuid7(), 'a "fern"', datetime(2026, 6, 1, 9, tzinfo=UTC), 0.5, 3, True, Notification.Origin.API, {}, "[1]")
MOSS = Plant(uuid7(), "", None, 2.0, 0, False, Notification.Origin.CODE, {"light": None}, None)


@pytest.mark.django_db
def test_each_row_has_the_fields_of_its_object_and_the_further_columns() -> None:
    rows = query(f"SELECT *, pg_typeof(data)::text AS type FROM {PLANTS.sql}", PLANTS.values([FERN, MOSS]))  # noqa: S608
    assert [tuple(row) for row in rows] == [
        (FERN.id, 'a "fern"', FERN.watered_at, 0.5, 3, True, "api", "{}", "[1]", 8, "jsonb"),
        (MOSS.id, "", None, 2.0, 0, False, "code", '{"light": null}', None, 0, "jsonb"),
    ]


@pytest.mark.django_db
def test_an_insert_takes_the_columns_and_what_replaces_them() -> None:
    change("CREATE TEMPORARY TABLE plants (id uuid, name text, pots smallint)", [])
    left_out = dict.fromkeys(("watered_at", "weight", "thirsty", "origin", "care", "data", "length"))
    change(PLANTS.insert("plants", name="upper(name)", **left_out), PLANTS.values([FERN]))
    assert [tuple(row) for row in query("SELECT * FROM plants", [])] == [(FERN.id, 'A "FERN"', 3)]
