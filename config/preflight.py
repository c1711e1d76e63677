"""Check that PostgreSQL, Redis and, if used, RabbitMQ answer; if not, exit with one line and a non-zero status."""

import os
from collections.abc import Callable
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from common.redis import client


def check() -> None:
    """Load the settings, which starts embedded engines if needed, and connect to the engines.

    Raises ImproperlyConfigured, or OperationalError for PostgreSQL.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.conf import settings
    from django.db import connection

    connection.settings_dict["OPTIONS"].setdefault("connect_timeout", 5)
    connection.ensure_connection()
    connection.close()
    _connect("Redis", "REDIS_URL", settings.REDIS_URL, client.client(settings.REDIS_URL).ping)
    if settings.HAS_RABBITMQ:
        from config.celery import app

        with app.connection_for_write() as broker:
            _connect("RabbitMQ", "BROKER_URL", app.conf.broker_url, broker.connect)


def _connect(engine: str, variable: str, url: str, connect: Callable[[], object]) -> None:
    try:
        connect()
    except Exception as error:
        where = urlsplit(url)
        address = f"{where.hostname}:{where.port}" if where.port else where.hostname or where.path
        why = (str(error) or type(error).__name__).strip().splitlines()[0]
        if client.cannot_save(error):
            raise ImproperlyConfigured(f"Redis at {address} cannot save to its disk: make room on it.") from None
        raise ImproperlyConfigured(f"{engine} at {address} does not answer ({why}). Check {variable}.") from None


if __name__ == "__main__":
    check()
