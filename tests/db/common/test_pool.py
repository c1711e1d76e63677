"""The pool of connections after an outage."""

from __future__ import annotations

from typing import Any

from django.db import connection, connections

IDLE = 8
"""One after the other, psycopg would try them for more than a minute."""


def test_after_an_outage_the_first_request_gets_a_connection_at_once() -> None:
    pooled: Any = connections["default"].copy("pooled")
    pooled.settings_dict |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}
    pooled.settings_dict["OPTIONS"] |= {"pool": {"min_size": 0, "max_size": IDLE, "timeout": 30}}
    try:
        pooled.connect()
        pooled.close()
        idle = [pooled.pool.getconn() for _ in range(IDLE)]
        for one in idle:
            pooled.pool.putconn(one)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM unnest(%s) pid", [[one.info.backend_pid for one in idle]]
            )
        pooled.connect()
        with pooled.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        pooled.close()
        pooled.close_pool()
