"""The flow of the demo: drafts above the limit wait, content is not written twice, and failures wait for Sunday."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from demo.flows import brand
from demo.flows.brand import MOST_DRAFTS
from events import flows
from events.flows.base import StepRefused
from events.models import Event, Run, Step
from events.pure import types
from people.models import User
from tests.db.events.test_flows import over, work_through
from tests.make import happen

BRAND = "LLC Tax"


@pytest.fixture(autouse=True)
def demo_flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(flows.registry, "_packages", [*flows.PACKAGES, "demo.flows"])
    monkeypatch.setattr(brand, "_ask", lambda path, input, call: {"address": "/here"} if path == "store" else {})
    vars(flows.registry).pop("by_name", None)
    yield
    vars(flows.registry).pop("by_name", None)


def tell(user: User, type: str, **data: Any) -> None:
    happen(user, type=type, data={"brand": BRAND, **data})


def state() -> dict[str, Any]:
    return dict(Run.objects.get().state)


def count(type: str) -> int:
    return Event.objects.filter(type=type).count()


def test_a_keyword_goes_through_four_steps_to_publication_and_a_post(ada: User) -> None:
    tell(ada, "brand.cycle", keywords=["a", "b"])
    assert (count("research.requested"), state()["pending"]) == (2, 2)
    tell(ada, "research.completed", keyword="a")
    work_through()
    steps = Step.objects.order_by("id").values_list("handler", "state")
    names = ("fetch_research", "generate_article", "store_content", "emit_event")
    assert list(steps) == [(f"brand.{name}", "done") for name in names]
    assert (count("content.generated"), count("content.publish"), count("social.create")) == (1, 1, 1)
    assert (state()["content"], state()["drafts"], state()["pending"]) == ({"a": "/here"}, ["a"], 1)
    tell(ada, "content.published", keyword="a")
    assert (state()["drafts"], state()["published"]) == ([], 1)


def test_what_has_content_already_is_skipped_and_nothing_is_pending_below_zero(ada: User) -> None:
    tell(ada, "brand.cycle", keywords=["a"])
    for _ in range(3):
        tell(ada, "research.completed", keyword="a")
        work_through()
    assert state()["pending"] == 0
    assert (Step.objects.count(), count("content.generated")) == (4, 1)


def test_while_five_drafts_are_open_it_only_collects(ada: User) -> None:
    keywords = [f"{number}" for number in range(MOST_DRAFTS + 2)]
    tell(ada, "brand.cycle", keywords=keywords)
    for keyword in keywords:
        tell(ada, "research.completed", keyword=keyword)
    work_through()
    assert (count("content.generated"), state()["researched"]) == (MOST_DRAFTS, keywords[MOST_DRAFTS:])
    tell(ada, "content.published", keyword="3")
    work_through()
    assert (count("content.generated"), state()["researched"]) == (MOST_DRAFTS + 1, keywords[-1:])


def test_each_failed_keyword_is_researched_again_on_sunday(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> dict[str, Any]:
        raise StepRefused("It does not want to.")

    monkeypatch.setattr(brand, "_ask", refuse)
    tell(ada, "brand.cycle", keywords=["a", "b"])
    for keyword in ("a", "b"):
        tell(ada, "research.completed", keyword=keyword)
    work_through()
    assert (sorted(state()["failed"]), state()["drafts"], state()["pending"]) == (["a", "b"], [], 0)
    over(ada)
    assert (state()["failed"], state()["pending"], count("research.requested")) == ([], 2, 4)
    assert Event.objects.filter(type=types.WAIT_OVER, state="pending").count() == 1


@pytest.mark.parametrize(
    ("now", "at"),
    [
        (datetime(2026, 3, 14, 12, tzinfo=UTC), datetime(2026, 3, 15, 6, tzinfo=UTC)),
        (datetime(2026, 3, 15, 5, 59, tzinfo=UTC), datetime(2026, 3, 15, 6, tzinfo=UTC)),
        (datetime(2026, 3, 15, 6, tzinfo=UTC), datetime(2026, 3, 22, 6, tzinfo=UTC)),
    ],
)
def test_the_review_is_on_sunday_at_six(now: datetime, at: datetime) -> None:
    assert now + timedelta(seconds=brand._until_sunday(now)) == at
