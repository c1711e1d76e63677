"""What is pinned is all that there is to install, on the oldest Python too."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CHECKOUT = Path(__file__).resolve().parents[3]
_PRODUCT = (
    "api",
    "client",
    "common",
    "config",
    "counters",
    "demo",
    "events",
    "jobs",
    "live",
    "locks",
    "notifications",
    "people",
    "schedules",
    "watches",
    "work",
)
_OLDEST = {"python_version": "3.11", "python_full_version": "3.11.0", "extra": ""}


@pytest.mark.parametrize("lists", [["requirements.txt"], ["requirements.txt", "requirements-dev.txt"]])
def test_everything_that_a_pinned_package_needs_is_pinned(lists: list[str]) -> None:
    text = "\n".join((_CHECKOUT / name).read_text() for name in lists)
    pinned = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)(?:\[.*\])?==", text, re.M)}
    needs = [Requirement(line) for name in pinned for line in requires(name) or []]
    needed = {canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate(_OLDEST)}
    assert needed - pinned == set()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_everything_that_is_pinned_has_the_hashes_of_its_files_and_names_no_index(name: str) -> None:
    text = (_CHECKOUT / name).read_text()
    pins = re.findall(r"^[\w.-]+(?:\[.*\])?==.*(?:\n +.*)*", text, re.M)
    assert len(pins) > 20
    assert [pin.split("=")[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert "://" not in text


def _imported(tree: ast.AST) -> Iterator[str]:
    """Top-level modules, without those that are imported for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        yield from _imported(node)


def _named(*lists: str) -> set[str]:
    lines = [line.partition("#")[0].strip() for name in lists for line in (_CHECKOUT / name).read_text().splitlines()]
    return {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("-")}


@pytest.mark.parametrize("folder", _PRODUCT)
def test_everything_that_is_imported_is_named(folder: str) -> None:
    # The demo needs the packages of the tests, and the client is installed by itself.
    named = _named("requirements.in", *(["requirements-dev.in"] if folder in ("demo", "client") else []))
    if folder == "client":
        builds = tomllib.loads((_CHECKOUT / "client/pyproject.toml").read_text())["build-system"]["requires"]
        named |= {canonicalize_name(Requirement(one).name) for one in builds}
    paths = [path for path in (_CHECKOUT / folder).rglob("*.py") if "migrations" not in path.parts]
    modules = {module for path in paths for module in _imported(ast.parse(path.read_text()))}
    others = modules - set(sys.stdlib_module_names) - {*_PRODUCT, "carillon_client"}
    packages = packages_distributions()
    assert {module for module in others if not named & {canonicalize_name(name) for name in packages[module]}} == set()
