"""Is all there that Carillon needs? Where it is not, one plain line and a non-zero exit."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def check() -> None:
    """Reads the settings, which starts engines of our own where none are given, and asks both engines for an answer.

    Raises ImproperlyConfigured, or OperationalError where PostgreSQL is not reached; see `plain_errors`.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _ask_postgres()
    _ask_broker()


def _ask_postgres() -> None:
    from django.db import connection

    connection.settings_dict["OPTIONS"].setdefault("connect_timeout", 5)
    connection.ensure_connection()
    connection.close()


def _ask_broker() -> None:
    from config.celery import app

    where = urlsplit(app.conf.broker_url)
    try:
        with app.connection_for_write(connect_timeout=5) as broker:
            broker.ensure_connection(max_retries=1, timeout=5)
            _ = broker.default_channel  # opening it is the first question to the server
    except Exception as error:
        address = f"{where.hostname}:{where.port}" if where.port else where.hostname or where.path
        why = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ImproperlyConfigured(f"Redis at {address} does not answer ({why}). Look at REDIS_URL.") from None


if __name__ == "__main__":
    check()
