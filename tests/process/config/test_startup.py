"""What a process refuses at its start: keys that read nothing here, and a pooler that loses prepared statements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.db import connection

from bench.servers import pgbouncer
from common.database import encryption
from config import embedded
from demo.child import manage_command
from notifications.channels import key_rotation
from people.models import User
from tests.broken_line import Line
from tests.process.notifications.conftest import environment, manage, run
from work.backup import archive
from work.kinds import KINDS

pytestmark = pytest.mark.django_db(transaction=True)

WEB = "import config.asgi"
_LINK = """
import django
django.setup()
import sys
from celery import signals
from django.urls import reverse
from config import celery
signals.beat_init.disconnect(celery.check_engines)
signals.{signal}.send(sender=None)
celery.app.loader.import_default_modules()
from work.kinds import KINDS
print(reverse("watches:list"), "config.urls" in sys.modules, *sorted(kind.task for kind in KINDS.values()))
assert all(kind.task in celery.app.tasks for kind in KINDS.values())
"""
BEAT = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "beat"]
WORKER = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "worker", "-Q", "events"]


def start(command: list[str], **variables: str) -> tuple[int, str]:
    """The status and the last line of a process that ends by itself."""
    done = run(command, **variables)
    return done.returncode, done.stdout.rpartition("\n")[2]


@pytest.mark.parametrize("command", [[sys.executable, "-c", WEB], WORKER, BEAT], ids=["web", "worker", "beat"])
def test_no_process_starts_with_a_key_that_reads_nothing(command: list[str]) -> None:
    key_rotation.remember_keys()
    status, line = start(command, ENCRYPTION_KEYS=Fernet.generate_key().decode())
    assert status == 1
    assert line.startswith("Carillon cannot start: ENCRYPTION_KEYS cannot read the secrets that are stored here")


OLD = (
    "import runpy, sys; from django.db.backends.postgresql.features import DatabaseFeatures as Features\n"
    "Features.minimum_database_version = (99,)\n"
    "del sys.argv[0]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


@pytest.mark.parametrize(
    "arguments",
    [["config.asgi"], WORKER[2:], BEAT[2:], ["manage", "migrate"], ["config.preflight"]],
    ids=["web", "worker", "beat", "migrate", "preflight"],
)
def test_no_process_starts_with_a_server_that_is_too_old(arguments: list[str]) -> None:
    status, line = start([sys.executable, "-c", OLD, *arguments])
    assert status == 1
    assert line.startswith("Carillon cannot start: PostgreSQL 99 or later is required (found ")


def test_the_log_level_holds_for_uvicorn_too() -> None:
    code = (
        "import logging, uvicorn; uvicorn.Config('config.asgi:application'); import django; django.setup()\n"
        "for name in ('uvicorn.error', 'uvicorn.access'): logging.getLogger(name).info('a line that is not wanted')\n"
        "logging.getLogger('uvicorn.error').warning('a warning')"
    )
    [line] = run([sys.executable, "-c", code]).stdout.splitlines()
    assert line.endswith("WARNING uvicorn.error: a warning")


@pytest.mark.parametrize(
    ("name", "value"), [("BASE_URL", "https://example.org/carillon"), ("MAIL_RETURN_PATH", "Nobody <nobody>")]
)
def test_a_wrong_address_stops_the_start_with_one_line(name: str, value: str) -> None:
    status, line = start(manage_command("check"), **{name: value})
    assert status == 1
    assert line.startswith(f"Carillon cannot start: {name} ")


@pytest.mark.parametrize("signal", ["celeryd_init", "beat_init"])
def test_a_worker_and_a_beat_write_links_without_the_pages_of_the_admin_and_the_api_and_know_all_work(
    signal: str,
) -> None:
    code = _LINK.format(signal=signal)  # a new program: a fork has imported all
    ours = os.environ | environment()
    done = subprocess.run(
        [sys.executable, "-c", code], env=ours, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["/watches/", "False", *sorted(kind.task for kind in KINDS.values())]


def test_a_process_starts_while_the_database_is_away() -> None:
    status, line = start([sys.executable, "-c", WEB], DATABASE_URL="postgresql://me@127.0.0.1:1/carillon")
    assert (status, "cannot start" in line) == (0, False)


@pytest.fixture
def pooler(tmp_path: Path) -> Iterator[str]:
    """The URL of this test's database through a PgBouncer in transaction mode."""
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    given = connection.get_connection_params()
    line = Line(f"{given['host']}/.s.PGSQL.5432")
    line.mend()
    with pgbouncer(program, f"host=127.0.0.1 port={line.port} user={given['user']}", tmp_path) as port:
        yield f"postgresql://{given['user']}@127.0.0.1:{port}/{given['dbname']}?options="
    line.cut()


def test_a_pooler_that_loses_prepared_statements_is_refused(pooler: str) -> None:
    status, line = start(WORKER, DATABASE_URL=pooler)
    assert status == 1
    assert line.startswith("Carillon cannot start: DATABASE_URL leads to a pooler that loses prepared statements")


def test_behind_a_pooler_the_keys_of_many_second_factors_are_rotated(pooler: str) -> None:
    """No cursor of the server outlives its transaction there; Django's begins after 2,000 rows."""
    people = User.objects.bulk_create(User(email=f"p{number}@example.org") for number in range(2_001))
    secret = encryption.seal("secret")
    Authenticator.objects.bulk_create(Authenticator(user=one, type="totp", data={"secret": secret}) for one in people)
    done = manage("rotate_keys", DATABASE_URL=pooler)
    assert "second factors: 0 sealed with the first key, 2001 were already" in done.stdout


def test_a_pooler_by_transaction_never_gets_the_session_of_a_backup(pooler: str, tmp_path: Path) -> None:
    path = f"{embedded.postgres_programs()}:{os.environ['PATH']}"
    done = manage("backup", str(tmp_path), DATABASE_URL=pooler, BACKUP_KEY=archive.new_key(), PATH=path)
    assert done.returncode != 0
    assert "DATABASE_URL leads to a pooler by transaction" in done.stdout
    assert not list(tmp_path.glob("*.age"))
