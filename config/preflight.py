"""Is all there that Carillon needs? Where it is not, one plain line and a non-zero exit, and no trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


@contextmanager
def plainly() -> Iterator[None]:
    """Ends the process with one line for what a person set up wrong; every other error passes through."""
    try:
        yield
    except ImproperlyConfigured as wrong:
        sys.exit(f"Carillon cannot start: {wrong}")
    except KeyboardInterrupt:
        sys.exit(130)


def check() -> None:
    """Reads the settings, which starts engines of our own where none are given, and asks both engines for an answer.

    Raises ImproperlyConfigured with one line that names the variable to look at.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _ask_postgres()
    _ask_broker()


def _ask_postgres() -> None:
    from django.db import OperationalError, connection

    options = connection.settings_dict["OPTIONS"]
    options.setdefault("connect_timeout", 5)
    try:
        connection.ensure_connection()
    except OperationalError as error:
        why = str(error).strip().splitlines()[0]
        raise ImproperlyConfigured(f"PostgreSQL does not let us in ({why}). Look at DATABASE_URL.") from None
    finally:
        connection.close()


def _ask_broker() -> None:
    from config.celery import app

    where = urlsplit(app.conf.broker_url)
    try:
        with app.connection_for_write(connect_timeout=5) as broker:
            broker.ensure_connection(max_retries=1, timeout=5)
            _ = broker.default_channel  # opening it is the first question to the server
    except Exception as error:
        address = f"{where.hostname}:{where.port}" if where.port else where.hostname
        why = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ImproperlyConfigured(f"Redis at {address} does not answer ({why}). Look at REDIS_URL.") from None


if __name__ == "__main__":
    with plainly():
        check()
