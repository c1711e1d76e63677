"""The checker of the fault matrix's runs and steps finds what is lost, applied twice or repeated after its commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from bench.faults.flow_check import wrong_flows
from bench.faults.flow_files import faults_run
from events import flows
from events.models import Run
from people.models import User
from tests.db.events.test_flows import work_through
from tests.make import happen

OF = 2


@pytest.fixture
def arrivals(ada: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """What the sink gets of a run that went well."""
    got: list[tuple[str, str]] = []

    def post(url: str, json: Any, headers: dict[str, str], timeout: float) -> Mock:
        got.append((json["data"]["subject"], headers["webhook-id"]))
        return Mock()

    monkeypatch.setattr(flows.registry, "_packages", [*flows.PACKAGES, "bench.faults.flow_files"])
    monkeypatch.setattr(faults_run.requests, "post", post)
    vars(flows.registry).pop("by_name", None)
    for number in range(OF):
        happen(ada, type="faults.run", data={"run": "a", "number": number, "of": OF, "url": "http://sink"})
    work_through()
    yield got
    vars(flows.registry).pop("by_name", None)


def found(arrivals: list[tuple[str, str]]) -> list[str]:
    return [what for what, _ in wrong_flows({"a": OF}, arrivals)]


def test_nothing_is_wrong_with_a_run_that_went_well(arrivals: list[tuple[str, str]]) -> None:
    assert len(arrivals) == 2 * OF
    assert found(arrivals) == []


def test_a_step_that_is_repeated_after_its_commit_is_found(arrivals: list[tuple[str, str]]) -> None:
    assert found([*arrivals, arrivals[0]]) == ["repeats", "duplicates"]


def test_a_step_with_another_key_is_found(arrivals: list[tuple[str, str]]) -> None:
    assert "duplicates" in found([*arrivals, (arrivals[0][0], "another")])


def test_a_step_that_never_arrived_is_found(arrivals: list[tuple[str, str]]) -> None:
    assert found(arrivals[1:]) == ["lost"]


@pytest.mark.parametrize(("events", "what"), [([0], "lost"), ([0, 1, 1], "duplicates")])
def test_an_event_that_is_not_applied_once_is_found(
    arrivals: list[tuple[str, str]], events: list[int], what: str
) -> None:
    run = Run.objects.get()
    run.state["events"] = events
    run.save()
    assert found(arrivals) == [what]


def test_a_run_that_did_not_end_is_found(arrivals: list[tuple[str, str]]) -> None:
    Run.objects.update(status="open", ended_at=None)
    assert found(arrivals) == ["incoherent"]
