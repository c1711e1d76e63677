"""Plugin of parallel runs (pytest-xdist). `script/test` loads it before Django's settings are read.

Each worker has its own engines, in its own folder, so no test sees the rows, messages or counts of another worker.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["CARILLON_VAR"] = f"{os.environ.get('CARILLON_VAR') or 'var/test'}-{_worker}"
# Else each worker and beat checks all models and forms first. `manage.py` and what `script/server` starts still do.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

_LANES = ("browser", "process", "db", "unit")
_AXE = "tests/browser/test_accessibility.py"  # without the processes of its lane
_LONG = (_AXE, "tests/process/bench/test_faults.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Workers import the files of tests in different orders: on a clean clone each compiles a part for all."""
    if _worker:
        files = sorted(file for lane in session.config.args for file in Path(lane).rglob("test_*.py"))
        first = len(files) * int(_worker[2:]) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for file in files[first:] + files[:first]:
            with suppress(Exception):  # collection reports it
                import_module(".".join(file.with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest first, for a long test at the end leaves the other cores idle.

    By itself pytest-django runs tests of transactions after all others of the database, and then those without one.
    """

    def place(item: pytest.Item) -> tuple[bool, int, bool]:
        folder = item.nodeid.split("/")[1:2]  # of a file elsewhere, any or none
        lane = _LANES.index(folder[0]) if folder and folder[0] in _LANES else len(_LANES)
        return not item.nodeid.startswith(_LONG), lane, item.get_closest_marker("django_db") is not None

    items.sort(key=place)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole files to a worker, and the browser lane as one: its tests share processes.

    The last worker begins at the end, with the lanes that start no processes: it computes while the others wait.
    """

    def _assign_work_unit(self, node: Any) -> None:
        if node is self.nodes[-1]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "tests/browser" if file.startswith("tests/browser/") and file != _AXE else file


def pytest_xdist_make_scheduler(config: Any, log: Any) -> ByFile:
    return ByFile(config, log)
