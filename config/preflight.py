"""Check that PostgreSQL and Redis answer; if not, exit with one line and a non-zero status."""

import os
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def check() -> None:
    """Load the settings, which starts embedded engines if needed, and connect to both engines.

    Raises ImproperlyConfigured, or OperationalError for PostgreSQL.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.db import connection

    connection.settings_dict["OPTIONS"].setdefault("connect_timeout", 5)
    connection.ensure_connection()
    connection.close()
    from config.celery import app

    where = urlsplit(app.conf.broker_url)
    try:
        with app.connection_for_write(connect_timeout=5) as broker:
            broker.ensure_connection(max_retries=1, timeout=5)
            _ = broker.default_channel  # connects
    except Exception as error:
        address = f"{where.hostname}:{where.port}" if where.port else where.hostname or where.path
        why = (str(error) or type(error).__name__).strip().splitlines()[0]
        if why.startswith("MISCONF"):
            raise ImproperlyConfigured(f"Redis at {address} cannot save to its disk: make room on it.") from None
        raise ImproperlyConfigured(f"Redis at {address} does not answer ({why}). Check REDIS_URL.") from None


if __name__ == "__main__":
    check()
