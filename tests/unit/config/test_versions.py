"""One version everywhere, what PostgreSQL is told about a process, and how commands start."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from config import settings
from config.processes import commands

ROOT = Path(__file__).parents[3]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    client = (ROOT / "client/carillon_client/__init__.py").read_text()
    assert project == settings.VERSION
    assert f'__version__ = "{settings.VERSION}"' in client


@pytest.mark.parametrize(
    ("command", "role"),
    [
        (["/opt/.venv/bin/celery", "-A", "config", "worker", "-Q", "deliveries"], "carillon worker"),
        (["/opt/.venv/lib/celery/__main__.py", "-A", "config", "--quiet", "beat"], "carillon beat"),
        (["/opt/.venv/lib/uvicorn/__main__.py", "config.asgi:application"], "carillon web"),
        (["manage.py", "migrate", "--plan"], "carillon migrate"),
        (["manage.py"], "carillon"),
        (["-c"], "carillon"),
    ],
)
def test_a_process_says_what_it_is(command: list[str], role: str) -> None:
    assert commands.role_of(command) == role


def test_no_command_but_those_of_the_schema_and_texts_loads_all_pages_to_check_them() -> None:
    own = {name: app for name, app in get_commands().items() if (ROOT / str(app)).is_dir()}
    checked = {name for name, app in own.items() if load_command_class(app, name).requires_system_checks}
    assert {"backup", "release", "receive_pings"} < own.keys() - checked
    assert checked <= {"migrate", "makemessages"}
