"""Plugin of pytest: runs chosen tests in the given order, or records which functions each test calls.

CHOSEN_TESTS names a file with one node id a line, CALLED_FUNCTIONS the file for one line of JSON a test that passes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_called: set[CodeType] = set()
_failed: set[str] = set()


def _trace(frame: FrameType, event: str, argument: object) -> None:
    _called.add(frame.f_code)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if path := os.environ.get("CHOSEN_TESTS"):
        place = {name: number for number, name in enumerate(Path(path).read_text().splitlines())}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not (path := os.environ.get("CALLED_FUNCTIONS")):
        return (yield)
    _called.clear()
    began = time.monotonic()
    threading.settrace(_trace)  # called for each new frame, and for no line of it
    sys.settrace(_trace)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        seconds = round(time.monotonic() - began, 3)
        if item.nodeid not in _failed:
            with open(path, "a") as file:
                print(json.dumps([item.nodeid, seconds, sorted(_names(set(_called)))]), file=file)


def _names(called: set[CodeType]) -> Iterator[str]:
    """The functions of the product as `path:qualified name`."""
    for code in called:
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] not in ("tests", ".venv", "var"):
            yield f"{path.relative_to(ROOT)}:{code.co_qualname}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)
