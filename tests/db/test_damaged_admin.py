"""Each list and each page of the admin answers beside rows that SQL damaged, in each column that can be damaged."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule

from common.admin.damaged import SafeAdmin
from people.models import User
from tests.make import make_user
from work.kinds import KINDS
from work.models import Intervention, Work

# By the type of a column, what SQL can write into it; the first ones cannot be read.
DAMAGES: dict[type[models.Field[Any, Any]], list[str]] = {
    models.DateTimeField: [
        "'infinity'", "'-infinity'", "'0044-03-15 BC'", "'9999-12-31 23:59:59Z'", "'0001-01-01 00:00Z'"
    ],
    models.DateField: ["'infinity'", "'0044-03-15 BC'"],
    models.TimeField: ["'24:00'"],
    models.JSONField: [
        "(repeat('[', 3000) || repeat(']', 3000))::jsonb", "(repeat('9', 5000))::jsonb",
        "'null'", "'5'", "'\"x\"'", "'[]'", "'[null]'", "'{}'",
    ],
    ArrayField: ["'{}'", "'{NULL}'"],
}  # fmt: skip
_numbers = itertools.count(1)
SAFE = [model for model in admin.site._registry if not model._meta.auto_created]


def sql(statement: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else None


def unguard(model: type[models.Model]) -> None:
    """Drop what refuses damage to its rows and to those that it refers to, until the test ends."""
    sql("SET CONSTRAINTS ALL IMMEDIATE")
    sql("SET LOCAL session_replication_role = replica")  # no triggers
    tables, ahead = set[str](), [model]
    while ahead:
        options = ahead.pop()._meta
        if options.db_table not in tables:
            tables.add(options.db_table)
            ahead += [field.related_model for field in options.concrete_fields if field.related_model]
    checks = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype IN ('c', 'u')"
    for table, name in sql(checks):
        if table in tables:
            sql(f'ALTER TABLE {table} DROP CONSTRAINT "{name}" CASCADE')
    unique = (
        "SELECT indrelid::regclass::text, indexrelid::regclass FROM pg_index WHERE indisunique AND NOT indisprimary"
    )
    for table, name in sql(unique):
        if table in tables:
            sql(f"DROP INDEX {name}")


def make(model: type[models.Model], person: User) -> Any:
    """A row of any model, with whatever its columns need."""
    model = model._meta.concrete_model or model
    if model is User:
        return person
    fields: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if field.null or field.has_default() or field.has_db_default() or (field.primary_key and field.db_returning):
            continue
        if field.related_model:
            fields[field.name] = make(field.related_model, person)
        elif isinstance(field, models.DateTimeField):
            fields[field.name] = timezone.now()
        elif isinstance(field, models.IntegerField):
            fields[field.name] = 1
        elif isinstance(field, models.JSONField):
            fields[field.name] = {}
        elif isinstance(field, ArrayField):
            fields[field.name] = []
        elif isinstance(field, models.UUIDField):
            fields[field.name] = uuid4()
        elif isinstance(field, models.CharField | models.TextField):
            fields[field.name] = field.choices[0][0] if field.choices else f"x{next(_numbers)}"
    if model is Intervention:
        fields["kind"] = next(iter(KINDS))
    row = model(**fields)
    model._base_manager.bulk_create([row])
    return row


def copy(row: Any) -> Any:
    """The key of a copy of a row."""
    options = row._meta
    key = {models.UUIDField: uuid4, models.CharField: lambda: f"y{next(_numbers)}"}
    make_key = next((new for kind, new in key.items() if isinstance(options.pk, kind)), lambda: 1_000 + next(_numbers))
    new = make_key()
    names = ", ".join(f'"{one.column}"' for one in options.concrete_fields if not one.primary_key)
    sql(f'INSERT INTO {options.db_table} ("{options.pk.column}", {names}) '  # noqa: S608
        f'SELECT %s, {names} FROM {options.db_table} WHERE "{options.pk.column}" = %s', new, row.pk)  # fmt: skip
    return new


def damages(field: models.Field[Any, Any], number: int) -> set[str]:
    """One for each column, and for JSON two: so that all columns of a type together have all of them."""
    found = next((values for kind, values in DAMAGES.items() if isinstance(field, kind)), [])
    return {found[number % len(found)], *found[: isinstance(field, models.JSONField)]} if found else set()


@pytest.mark.parametrize("model", SAFE, ids=lambda model: model._meta.label_lower)
def test_every_list_and_page_answers_beside_damaged_rows(
    operator: Client, model: type[models.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    model_admin = admin.site._registry[model]
    monkeypatch.setattr(type(model_admin), "list_per_page", 500)
    monkeypatch.setattr(type(model_admin), "list_max_show_all", 500)
    monkeypatch.setattr(admin.site, "get_sidebar_list", lambda _: [])  # the same on all pages
    unguard(model)
    sound = make(model, make_user())
    if issubclass(model, Work):
        sql(f"UPDATE {model._meta.db_table} SET state = 'dead', settled_at = now()")  # noqa: S608
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    rows = {}
    for number, field in enumerate(model._meta.concrete_fields):
        for value in damages(field, number):
            rows[copy(sound)] = (field.column, value)
    for key, (column, value) in rows.items():
        damage = f'UPDATE {model._meta.db_table} SET "{column}" = {value}'  # noqa: S608
        sql(f"{damage} WHERE {model._meta.pk.column} = %s", key)
    answer = operator.get(reverse(f"{name}_changelist"))
    assert answer.status_code == 200
    shown, wrong = answer.content.decode(), []
    assert reverse(f"{name}_change", args=[sound.pk]) in shown or not model_admin.list_display_links
    for key, (column, value) in rows.items():
        page = reverse(f"{name}_change", args=[key])
        status = operator.get(page, follow=True).status_code
        if status != 200 or page not in shown:
            wrong.append((column, value, status))
    assert not wrong, "\n".join(map(str, wrong))


def test_every_admin_is_one_whose_pages_survive_damaged_rows() -> None:
    assert [one for one in admin.site._registry.values() if not isinstance(one, SafeAdmin)] == []


def test_an_autocomplete_offers_the_rows_that_can_be_read(operator: Client) -> None:
    sound, damaged = [ClockedSchedule.objects.create(clocked_time=timezone.now()) for _ in range(2)]
    sql("UPDATE django_celery_beat_clockedschedule SET clocked_time = 'infinity' WHERE id = %s", damaged.pk)
    field = {"app_label": "django_celery_beat", "model_name": "periodictask", "field_name": "clocked", "term": ""}
    found = operator.get(reverse("admin:autocomplete"), field).json()["results"]
    assert [one["id"] for one in found] == [str(sound.pk)]
