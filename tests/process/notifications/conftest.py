"""Processes that work on this test's database and broker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from django.conf import settings
from django.db import connection

from demo.child import Child, manage_command
from notifications.models import Delivery
from tests.process.conftest import wait_until

_SEND = (
    "import sys, uuid, django; django.setup()\n"
    "from notifications.deliveries.kind import DELIVERY\n"
    "from work.engine import runner\n"
    "runner.run(DELIVERY, uuid.UUID(sys.argv[1]), 'doomed')"
)


def environment(**overrides: str) -> Mapping[str, str]:
    """The environment that leads a process to this test's database and broker."""
    given = connection.get_connection_params()
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{given.get('user', '')}@/{given['dbname']}?host={given['host']}",
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "LOG_LEVEL": "WARNING",
        **overrides,
    }


def send_in_a_process(delivery: Delivery, **overrides: str) -> subprocess.CompletedProcess[str]:
    """Send in a process of its own, which a fault point may kill."""
    return run_in_a_process(_SEND, str(delivery.id), **overrides)


def run_in_a_process(code: str, *arguments: str, **overrides: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-c", code, *arguments], **overrides)


def manage(*arguments: str, **overrides: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py`."""
    return run(manage_command(*arguments), **overrides)


def run(command: list[str], **overrides: str) -> subprocess.CompletedProcess[str]:
    """Until it ends. A process that has loaded all of Carillon, see `tests/zygote.py`; errors are among its output."""
    lines: list[str] = []
    child = Child("run", command, environment=environment(**overrides), on_line=lambda line, _: lines.append(line))
    child.start()
    try:
        wait_until(lambda: child.exit_status() is not None)
    finally:
        child.stop(0.0)
    return subprocess.CompletedProcess(command, child.exit_status(), "\n".join(lines))
