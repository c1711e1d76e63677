"""What a container's health check asks of a worker or beat."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from common import probe


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(probe, "_FOLDER", tmp_path / "alive")
    return tmp_path / "alive"


def age(file: Path, seconds: float) -> None:
    past = time.time() - seconds
    os.utime(file, (past, past))


def test_a_loop_that_turns_is_well_and_one_that_stands_still_is_named(folder: Path) -> None:
    probe.note("worker")
    file = folder / f"worker.{os.getpid()}"
    age(file, 50)
    assert probe.problem("worker") == ""
    age(file, 75)
    assert probe.problem("worker") == f"{file.name}: its loop has not run for 75 s"
    assert probe.problem("beat") == "No beat runs here"


def test_a_worker_that_waits_for_redis_is_not_restarted(folder: Path) -> None:
    probe.note("worker", waits_for="Redis")
    age(folder / f"worker.{os.getpid()}", 3_600)
    assert probe.problem("worker") == ""


def test_a_process_that_ended_counts_no_more(folder: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    folder.mkdir()
    (file := folder / f"beat.{int(ended.stdout)}").touch()
    assert probe.problem("beat") == "No beat runs here"
    assert not file.exists()


def test_the_check_imports_neither_django_nor_celery(tmp_path: Path) -> None:
    code = "import sys; from common import probe; print(sorted({'django', 'celery'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, capture_output=True, check=True)
    assert done.stdout == b"[]\n"
    empty = os.environ | {"CARILLON_VAR": str(tmp_path)}
    command = [sys.executable, "-m", "common.probe", "worker"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=empty, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"No worker runs here\n")
