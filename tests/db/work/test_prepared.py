"""Claims and settlings are planned once a connection, and outlive what makes a plan void."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection

from notifications.models import Delivery
from tests.make import make_channel, make_delivery, make_user, send_now


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements ORDER BY name")
        return [statement for (statement,) in cursor.fetchall()]


def outside_parameters() -> dict[str, Any]:
    """Of a connection beside Django's."""
    parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
    parameters.pop("context")
    return parameters


@pytest.mark.django_db(transaction=True)
def test_a_connection_plans_a_claim_and_a_settling_once() -> None:
    connection.close()
    for _ in range(3):
        send_now(make_delivery(make_channel(make_user())).id)
    _, claim, settling = prepared()  # the first is the insert of a lone notification
    assert "state = 'sending'" in claim
    assert "finished_at" in settling


@pytest.mark.django_db(transaction=True)
def test_a_migration_that_changes_a_column_costs_a_worker_a_connection_and_no_delivery() -> None:
    first, second = (make_delivery(make_channel(make_user())) for _ in range(2))
    change = "ALTER TABLE notifications_notification ALTER COLUMN subject TYPE {}"
    send_now(first.id)
    try:
        with psycopg.connect(**outside_parameters()) as outside:
            outside.execute(change.format("text"))
        send_now(second.id)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(change.format("varchar(200)"))
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}
