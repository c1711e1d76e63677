"""A program that is forked from a process with the libraries begins as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.processes.child import Child
from tests.process.conftest import wait_until

_SAY = """
import json, os, sys
ours = {"api", "common", "config", "events", "jobs", "notifications", "people", "schedules", "work"} & set(sys.modules)
said = [__name__, sys.argv, os.getcwd(), os.getppid(), dict(os.environ), sys.stdin.read(), sorted(ours)]
json.dump([*said, "celery" in sys.modules], sys.stdout)
sys.exit(3)
"""


def test_it_has_its_own_arguments_files_environment_and_status(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SAY, "one", "two"],
        input="words",
        cwd=tmp_path,
        env={"A": "b"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    *said, warm = json.loads(done.stdout)
    assert said == ["__main__", ["-c", "one", "two"], str(tmp_path), os.getpid(), {"A": "b"}, "words", []]
    assert warm or sys.platform != "linux"


@pytest.mark.parametrize("code", ["import os; os.abort()", "raise ValueError", "import time; time.sleep(600)"])
def test_it_ends_as_it_would_alone(code: str) -> None:
    child = Child("program", [sys.executable, "-c", code], on_line=lambda *_: None)
    child.start()
    assert os.getsid(child.pid) == child.pid
    if "sleep" in code:
        child.ask_to_stop()
    wait_until(lambda: child.exit_status() is not None)
    assert child.exit_status() == {"import os": -6, "raise Val": 1, "import ti": -15}[code[:9]]
    child.stop(0.0)
