"""A worker that is killed between a delivery's death and the next channel, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from tests.fallback import first_of, make_fired, tried
from work import rescue

_WORKER = (
    "import sys, uuid, django; django.setup()\n"
    "from notifications.deliveries.kind import DELIVERY\n"
    "from work import runner\n"
    "runner.run(DELIVERY, uuid.UUID(sys.argv[1]), 'doomed')"
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("barrier", ["settled", "advancing"])
def test_a_worker_killed_after_the_death_leaves_the_next_channel_to_rescue(barrier: str, tmp_path: Path) -> None:
    notification, [inbox, _, _] = make_fired()
    inbox.disabled_at = notification.created_at  # so that its delivery dies
    inbox.save()
    (tmp_path / barrier).write_text("kill")
    given = connection.get_connection_params()
    address = f"postgresql://{given.get('user', '')}@/{given['dbname']}?host={given['host']}"
    killed = subprocess.run(
        [sys.executable, "-c", _WORKER, str(first_of(notification).id)],
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "CARILLON_FAULT_POINTS": str(tmp_path),
            "DATABASE_URL": address,
            "REDIS_URL": settings.REDIS_URL,
            "SECRET_KEY": settings.SECRET_KEY,
            "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        },
        cwd=settings.BASE_DIR,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert tried(notification) == [("Inbox", "dead")]
    assert [rescue.rescue()["followed"] for _ in range(3)] == [1, 0, 0]
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]
