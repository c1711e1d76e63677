"""The schema is what the models declare: nothing lives only in a migration."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models.functions import Now

from api.protocol import idempotency
from common.database import storage
from common.database.postgres import change, query
from notifications.channels import owner_notices
from notifications.models import Attempt, Channel
from people import tokens
from people.models import SecondFactor, User

APPS = ("common", "people", "work", "notifications", "jobs", "events", "schedules", "watches", "api")

# On django-celery-beat's tables, by `schedules.parts.mirror.create_indexes`.
FOREIGN = {"schedules_stock_entries", "schedules_clocked", "schedules_crontab"}


# Django names what a field implies (keys, unique columns, positive numbers) with a hash, PostgreSQL with a suffix.
OF_FIELDS = re.compile(r"_[0-9a-f]{8}(_|$)|_(pkey|key|check)$")


def tables() -> Iterator[type[models.Model]]:
    for app in APPS:
        for model in apps.get_app_config(app).get_models(include_auto_created=True):
            if not model._meta.proxy:
                yield model


def declared(model: type[models.Model]) -> set[str]:
    meta = model._meta
    triggers = {trigger.get_pgid(model) for trigger in getattr(meta, "triggers", [])}
    return {index.name for index in meta.indexes} | {constraint.name for constraint in meta.constraints} | triggers


def stored(table: str) -> set[str]:
    """Its indexes, constraints and triggers, without those that PostgreSQL makes for NOT NULL and foreign keys."""
    rows = query(
        """
        SELECT indexname AS name FROM pg_indexes WHERE tablename = %(table)s
         UNION SELECT conname FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype NOT IN ('n', 't')
         UNION SELECT tgname FROM pg_trigger WHERE tgrelid = %(table)s::regclass AND NOT tgisinternal
        """,
        {"table": table},
    )
    return {row.name for row in rows}


@pytest.mark.parametrize("model", list(tables()), ids=lambda model: model._meta.label)
def test_a_table_has_what_its_model_declares_and_nothing_else(model: type[models.Model]) -> None:
    assert {name for name in stored(model._meta.db_table) if not OF_FIELDS.search(name)} == declared(model)


@pytest.mark.parametrize("model", list(tables()), ids=lambda model: model._meta.label)
def test_a_table_has_the_storage_parameters_of_its_model(model: type[models.Model]) -> None:
    assert storage.parameters(model._meta.db_table) == getattr(model, "storage", {})


def test_parameters_that_were_changed_are_set_again_by_the_next_migrate() -> None:
    table = Attempt._meta.db_table
    change(f"ALTER TABLE {table} SET (fillfactor = 90)", None)
    storage.set_parameters(apps.get_app_config("notifications"))  # sent by `flush`
    assert storage.parameters(table)["fillfactor"] == 90
    storage.set_parameters(apps.get_app_config("notifications"), plan=[])
    assert storage.parameters(table) == Attempt.storage


def test_closing_an_attempt_touches_no_index() -> None:
    """PostgreSQL then keeps the new version on the same page, without new entries in the indexes."""
    written = {"finished_at", "outcome", "reason_code", "reason_params"}
    indexes = "SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = %s::regclass"
    rows = query(indexes, [Attempt._meta.db_table])
    assert rows
    assert not [row.definition for row in rows if any(column in row.definition for column in written)]


def test_a_function_belongs_to_a_declared_trigger() -> None:
    rows = query("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'", [])
    functions = {row.proname for row in rows if not row.proname.startswith("uuid")}
    models_and_proxies = [*tables(), SecondFactor]
    triggers = {name for model in models_and_proxies for name in declared(model) if name.startswith("pgtrigger_")}
    assert functions - {"_pgtrigger_should_ignore"} == triggers


def test_the_tables_of_others_have_our_indexes() -> None:
    rows = query("SELECT indexname FROM pg_indexes WHERE tablename LIKE %s", ["django_celery_beat_%"])
    ours = {row.indexname for row in rows if not row.indexname.startswith("django_celery_beat_")}
    assert ours == FOREIGN


def test_the_migrations_are_what_the_models_declare() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_no_permitted_change_of_a_delivery_calls_a_function() -> None:
    rows = query(
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgqual IS NULL AND tgrelid = %s::regclass",
        ["notifications_delivery"],
    )
    assert rows == []


def test_rare_queries_over_large_tables_have_an_index(ada: User) -> None:
    many = """
        INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown)
        SELECT gen_random_uuid(), %s, 'email', 'Mail', '{"address": "a@example.org"}', '', ''
          FROM generate_series(1, 5000)
    """
    change(many, [ada.pk])
    change("ANALYZE notifications_channel", None)
    disabled = Channel.objects.filter(disabled_at__gt=Now() - owner_notices.NEWS, removed_at=None)
    assert "channel_disabled" in disabled.explain()
    change("SET LOCAL enable_seqscan = off", None)  # there are no answers
    assert "api_answer_old" in str(query(f"EXPLAIN {idempotency._FORGET}", None))


def test_sql_can_write_no_factor_and_no_scopes_that_cannot_be_read(ada: User) -> None:
    factor = SecondFactor.objects.create(user=ada, type="totp", data={"secret": "x"})
    token, _text = tokens.create(ada, "Laptop", ["read"], None)
    for table, change_, key in (
        ("mfa_authenticator", "created_at = '-infinity'", factor.pk),
        ("mfa_authenticator", "data = '5'", factor.pk),
        ("people_apitoken", "scopes = '{NULL}'", token.pk),
    ):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET {change_} WHERE id = %s", [key])  # noqa: S608 - those above
