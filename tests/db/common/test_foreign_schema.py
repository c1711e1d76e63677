"""A database of another version is named, by `migrate` and at the start of each process."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection

from common.database import schema
from config import startup
from schedules.firing import fire
from tests.make import NINE, make_schedule, make_user

pytestmark = pytest.mark.django_db


def test_the_schema_of_this_version_has_no_difference() -> None:
    assert schema.different_columns() == []
    assert schema.difference() == ""


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE schedules_schedule RENAME COLUMN title TO name",
        "ALTER TABLE schedules_schedule ALTER COLUMN title TYPE bytea USING NULL",
    ],
)
def test_a_foreign_schema_stops_migrate_and_the_start(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE schedules_schedule ALTER COLUMN title DROP NOT NULL")
        cursor.execute(change)
    assert schema.different_columns() == ["schedules_schedule.title"]
    with pytest.raises(CommandError, match=r"the database lacks schedules_schedule\.title,"):
        call_command("migrate", verbosity=0)
    monkeypatch.setattr(startup, "_check_pooler", lambda: None)  # opens two sessions, which cannot see this transaction
    monkeypatch.setattr(startup.connection, "close", lambda: None)
    with pytest.raises(ImproperlyConfigured, match=r"Run `python manage\.py migrate`"):
        startup.check()


def test_migrations_that_are_not_applied_are_no_foreign_schema() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE schedules_schedule RENAME COLUMN title TO name")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'schedules' AND name NOT LIKE '0001%'")
    schema.refuse_foreign()


def test_a_rollback_is_no_foreign_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a newer release may have added: a migration, a table, and a column that may be empty."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE schedules_schedule ADD COLUMN newer text")
        cursor.execute("CREATE TABLE schedules_newer (id bigint)")
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('schedules', '9999_newer', now())")
    call_command("migrate", verbosity=0)
    monkeypatch.setattr(startup, "_check_pooler", lambda: None)
    monkeypatch.setattr(startup.connection, "close", lambda: None)
    startup.check()
    make_schedule(make_user())
    assert fire.fire_due(NINE) == 1


def test_an_empty_database_is_not_refused() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_migrations RENAME TO other")
    assert schema.difference() == ""
