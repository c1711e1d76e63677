"""Engines of the harness, and Django on them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import pgtrigger
from cryptography.fernet import Fernet

from bench.faults.brokers import Broker, OneRedis
from config import embedded
from config.embedded.locks import exclusive
from config.embedded.postgres import as_superuser


def prepare(database: Callable[[], str] = str, broker: Callable[[], Broker] = OneRedis) -> Broker:
    """Start the engines in CARILLON_VAR and set Django up. Call it before anything that imports models.

    `database` starts another PostgreSQL than the embedded one, and returns its URL. `broker` starts the broker.
    """
    os.environ.setdefault("CARILLON_VAR", "var/faults")
    embedded.var_dir().mkdir(parents=True, exist_ok=True)
    if exclusive(embedded.var_dir() / "lock") is None:
        raise SystemExit(f"Another run of the harness uses {embedded.var_dir()}: wait for it, or set CARILLON_VAR")
    database_url, redis_url = embedded.urls(database())
    os.environ |= {
        "DATABASE_URL": as_superuser(database_url),
        "REDIS_URL": redis_url,
        "SECRET_KEY": Fernet.generate_key().decode(),
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "DJANGO_SETTINGS_MODULE": "bench.faults.settings",
    }
    started = broker()
    os.environ |= started.variables
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, skip_checks=True, run_syncdb=True)
    from notifications.channels import key_rotation

    key_rotation.remember_keys()  # each run has its own
    logging.getLogger("pgtrigger").setLevel(logging.WARNING)
    pgtrigger.install()  # also those of the models here, which have no migrations
    return started
