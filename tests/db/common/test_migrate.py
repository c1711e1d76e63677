"""Machines that start together each run `migrate`: one at a time."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState

from common.database.postgres import query
from common.management.commands import migrate
from work.backup import postgres

pytestmark = pytest.mark.django_db


def is_free() -> bool:
    with transaction.atomic():
        [row] = query("SELECT pg_try_advisory_xact_lock(%s) AS free", [migrate.LOCK])
        transaction.set_rollback(True)
    return bool(row.free)


def test_migrate_waits_for_another(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float] = []
    with postgres.connect() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [migrate.LOCK])

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                other.execute("SELECT pg_advisory_unlock_all()")

        monkeypatch.setattr(migrate.time, "sleep", wait)
        call_command("migrate", verbosity=0)
    assert len(waits) == 2
    assert capsys.readouterr().err.count("Another process migrates this database") == 1
    with connection.cursor() as cursor:  # PostgreSQL ends the transaction of a connection a moment after it is closed
        cursor.execute("SET LOCAL lock_timeout = '60s'")
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [migrate.LOCK])


def test_what_waits_holds_up_no_index_that_is_made_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two polls, its transaction keeps neither a snapshot nor a transaction id."""
    seen = []

    def run(*_: object, **__: object) -> None:
        seen.extend(
            query(
                "SELECT state, backend_xmin, backend_xid FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE '%%pg_try_advisory_xact_lock%%' AND pid <> %s",
                [connection.connection.info.backend_pid],
            )
        )
        assert not is_free()

    monkeypatch.setattr(migrate.Stock, "handle", run)
    call_command("migrate", verbosity=0)
    assert [(row.state, row.backend_xmin, row.backend_xid) for row in seen] == [("idle in transaction", None, None)]


def test_a_change_renders_what_refers_to_the_model_and_leaves_no_reference_to_an_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: set[str] = set()
    state = MigrationLoader(None).project_state()
    everything = {model._meta.label for model in state.apps.get_models()}
    render = ModelState.render

    def note(self: ModelState, apps: object) -> object:
        rendered.add(f"{self.app_label}.{self.name}")
        return render(self, apps)

    monkeypatch.setattr(ModelState, "render", note)
    state.add_field("notifications", "attempt", "note", models.TextField(default=""), True)
    state.add_field(
        "people", "addresschange", "batch", models.ForeignKey("jobs.Batch", models.CASCADE, null=True), True
    )
    assert rendered == {"notifications.Attempt", "people.AddressChange"}
    state.add_index("notifications", "channel", models.Index("label", name="channel_label"))
    assert {"notifications.Channel", "notifications.Delivery", "notifications.Attempt"} <= rendered
    assert "people.User" not in rendered
    state.alter_field("people", "user", "email", models.TextField(), True)
    assert rendered <= everything
    for model in state.apps.get_models():
        for field in model._meta.get_fields():
            if field.is_relation and field.related_model:
                assert state.apps.get_model(field.related_model._meta.label) is field.related_model
