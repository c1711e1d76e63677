"""Databases of tests are copies of one that has all migrations, for these take 7 s of CPU.

Each worker has its own engines: the first that needs the copy writes it to a file, and the others load that.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from functools import cache
from hashlib import sha256

import psycopg
from django.conf import settings
from psycopg.sql import SQL, Identifier

from config import embedded
from config.embedded.postgres import Postgres

# What migrations, and the receivers that follow them, leave in a database.
_SOURCES = ("*/migrations/*.py", "requirements.txt", "common/database/storage.py", "schedules/parts/mirror.py")


def _name() -> str:
    read = sha256()
    for pattern in _SOURCES:
        for path in sorted(embedded.CHECKOUT.glob(pattern)):
            read.update(path.read_bytes())
    return f"migrated_{read.hexdigest()[:16]}"


@cache
def template() -> str:
    """The name of a database of the embedded engine with all migrations and nothing else, to copy."""
    name = _name()
    with psycopg.connect(_url("postgres"), autocommit=True) as engine:
        found = engine.execute("SELECT datname FROM pg_database WHERE datname ^@ 'migrated_'").fetchall()
        if (name,) in found:
            return name
        for (old,) in found:
            engine.execute(SQL("DROP DATABASE {}").format(Identifier(old)))
        making = f"making_{name}"
        engine.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(making)))
        engine.execute(SQL("CREATE DATABASE {}").format(Identifier(making)))
        _fill(making, name)
        engine.execute(SQL("ALTER DATABASE {} RENAME TO {}").format(Identifier(making), Identifier(name)))
    return name


def fill(database: str) -> None:
    """Migrate a new database of the embedded engine; do nothing to one that has tables."""
    with psycopg.connect(_url(database)) as there:
        is_new = there.execute("SELECT to_regclass('django_migrations') IS NULL").fetchone()
    if is_new == (True,):
        _fill(database, _name())


def _fill(database: str, name: str) -> None:
    copy = embedded.CHECKOUT / "var" / f"{name}.sql"
    with open(copy.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if copy.exists():
            _run(_program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(copy), "-d", _url(database))
            return
        _run(sys.executable, "manage.py", "migrate", "--verbosity", "0", DATABASE_URL=_url(database))
        making = copy.with_suffix(".making")
        _run(_program("pg_dump"), "-f", str(making), "-d", _url(database))
        for old in copy.parent.glob("migrated_*.sql"):
            old.unlink()
        making.rename(copy)


def _url(database: str) -> str:
    return f"postgresql://postgres@/{database}?host={settings.DATABASES['default']['HOST']}"


def _program(name: str) -> str:
    return str(Postgres(embedded.var_dir()).locate().with_name(name))


def _run(*command: str, **variables: str) -> None:
    keys = {"SECRET_KEY": settings.SECRET_KEY, "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS)}
    keys["DJANGO_SETTINGS_MODULE"] = "config.settings"  # also from the fault matrix, which has more apps
    subprocess.run(
        command,
        cwd=embedded.CHECKOUT,
        env=os.environ | keys | {"REDIS_URL": settings.REDIS_URL} | variables,
        stdout=subprocess.DEVNULL,
        check=True,
    )
