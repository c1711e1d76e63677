"""A worker that is killed between a delivery's death and the next channel, in a process of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.make import first_of, make_fired, tried
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import send_in_a_process
from work.engine import rescue


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("barrier", ["settled", "advancing"])
def test_a_worker_killed_after_the_death_leaves_the_next_channel_to_rescue(barrier: str, tmp_path: Path) -> None:
    notification, [inbox, _, _] = make_fired()
    inbox.disabled_at = notification.created_at  # so that its delivery dies
    inbox.save()
    (tmp_path / barrier).write_text("kill")
    killed = send_in_a_process(first_of(notification), CARILLON_FAULT_POINTS=str(tmp_path))
    assert killed.returncode == -signal.SIGKILL, killed.stdout
    assert tried(notification) == [("Inbox", "dead")]
    wait_until(lambda: rescue.rescue()["followed"] == 1)  # once PostgreSQL has noticed the death, too
    assert [rescue.rescue()["followed"] for _ in range(2)] == [0, 0]
    assert tried(notification) == [("Inbox", "dead"), ("Email", "pending")]
