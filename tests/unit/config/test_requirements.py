"""What is pinned is all that there is to install, on the oldest Python too."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CHECKOUT = Path(__file__).resolve().parents[3]
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
