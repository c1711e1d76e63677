"""Forks of the zygote are what new programs would be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from config.processes.commands import web_command
from demo.child import Child
from demo.ports import free_port
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from tests.zygote import Forked, Zygote

FLOWS = "tests.process.events.sample_flows"
REPORT = [sys.executable, "-m", "celery", "-A", "config", "report"]


def settings_of(report: str) -> list[str]:
    """Without parts of values, which have addresses in memory."""
    return [line for line in report.splitlines() if line[:1].isalpha()]


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8001", "https://carillon.example.org"], ids=["fork", "exec"])
def test_a_fork_has_the_settings_of_a_program_with_its_environment(origin: str) -> None:
    given = {"MOST_TEAMS": "7", "DATABASE_POOL": "on", "FLOWS": FLOWS, "JOB_QUEUES": "feed=slow"}
    ours = os.environ | environment(BASE_URL=origin, **given)
    program = subprocess.run(REPORT, env=ours, capture_output=True, text=True, check=True)
    fork = Child.popen(REPORT, env=ours)
    assert isinstance(fork, Forked)
    with fork.stdout as output:
        found = settings_of(output.read())
    assert fork.wait() == 0
    assert "MOST_TEAMS: 7" in found
    assert found == settings_of(program.stdout)


def test_code_of_a_test_runs_in_a_fork_that_has_its_arguments_and_finds_its_flows() -> None:
    code = "import sys; from events import flows; print(sys.argv, flows.find('slow') is not None)"
    for given, found in ((FLOWS, "True"), ("", "False")):
        fork = Child.popen([sys.executable, "-c", code, "a"], env=os.environ | environment(FLOWS=given))
        assert isinstance(fork, Forked)
        with fork.stdout as output:
            assert output.read().splitlines()[-1] == f"['-c', 'a'] {found}"
        assert fork.wait() == 0


@pytest.mark.django_db(transaction=True)
def test_a_fork_ends_by_a_signal_and_with_its_zygote() -> None:
    def started() -> Any:
        port = free_port()
        fork = zygote.start(web_command("127.0.0.1", port), env=os.environ | environment())
        wait_until(lambda: answers(port))
        return fork

    zygote = Zygote()
    with zygote:
        fork = started()
        assert fork.poll() is None
        os.kill(fork.pid, signal.SIGKILL)
        assert fork.wait() == -signal.SIGKILL
        fork.stdout.close()
        fork = started()
    wait_until(lambda: not Path(f"/proc/{fork.pid}").exists())
    fork.stdout.close()


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
