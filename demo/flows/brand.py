"""A brand: one run decides which keywords are researched, written about and published, and remembers what is open.

The steps ask the service whose address is in the variable DEMO_SERVICE.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

import requests

from events.flows.base import Flow, FlowEvent, State, StepCall, TryLater, Turn, on, step
from events.pure import types

MOST_DRAFTS = 5


class BrandState(State):
    """`pending`: research that was requested and has not come. `researched`: keywords that wait, while MOST_DRAFTS are
    `drafts`, which are open until they are published. `content`: addresses by keyword."""

    pending: int = 0
    researched: list[str] = []
    drafts: list[str] = []
    content: dict[str, str] = {}
    failed: list[str] = []
    published: int = 0
    posted: int = 0


class Brand(Flow):
    name = "brand"
    begins_on = ("brand.cycle",)
    State = BrandState

    def key(self, event: FlowEvent) -> str:
        return str(event.data["brand"])

    @on("brand.cycle")
    def request_research(self, run: Turn, event: FlowEvent) -> None:
        self._request(run, event.data["keywords"])
        run.wait("brand.review", _until_sunday(run.now))

    @on("research.completed")
    def research_completed(self, run: Turn, event: FlowEvent) -> None:
        state, keyword = run.state, event.data["keyword"]
        state.pending = max(0, state.pending - 1)
        if keyword not in (*state.content, *state.researched, *state.drafts):
            state.researched.append(keyword)
            self._open(run)

    @on(types.STEP_DONE, step="fetch_research")
    def research_fetched(self, run: Turn, event: FlowEvent) -> None:
        run.begin("generate_article", event.data["input"] | event.data["result"])

    @on(types.STEP_DONE, step="generate_article")
    def article_generated(self, run: Turn, event: FlowEvent) -> None:
        run.begin("store_content", event.data["input"] | event.data["result"])

    @on(types.STEP_DONE, step="store_content")
    def content_stored(self, run: Turn, event: FlowEvent) -> None:
        run.begin("emit_event", {"keyword": event.data["input"]["keyword"]} | event.data["result"])

    @on(types.STEP_DONE, step="emit_event")
    def content_announced(self, run: Turn, event: FlowEvent) -> None:
        run.emit("content.generated", {"brand": run.key} | event.data["input"] | event.data["result"])

    @on(types.STEP_FAILED, step="fetch_research")
    @on(types.STEP_FAILED, step="generate_article")
    @on(types.STEP_FAILED, step="store_content")
    @on(types.STEP_FAILED, step="emit_event")
    def step_failed(self, run: Turn, event: FlowEvent) -> None:
        keyword = event.data["input"]["keyword"]
        run.state.failed.append(keyword)
        self._close(run, keyword)

    @on("content.generated")
    def content_generated(self, run: Turn, event: FlowEvent) -> None:
        run.state.content[event.data["keyword"]] = event.data["address"]
        run.emit("content.publish", event.data)
        run.emit("social.create", event.data)

    @on("content.published")
    def content_published(self, run: Turn, event: FlowEvent) -> None:
        run.state.published += 1
        self._close(run, event.data["keyword"])

    @on("social.posted")
    def social_posted(self, run: Turn, event: FlowEvent) -> None:
        run.state.posted += 1

    @on("brand.review", types.WAIT_OVER)
    def review(self, run: Turn, event: FlowEvent) -> None:
        """On Sundays: what has failed is researched again, each keyword with an event of its own."""
        failed, run.state.failed = run.state.failed, []
        self._request(run, failed)
        run.wait("brand.review", _until_sunday(run.now))

    @step(seconds=20)
    def fetch_research(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _ask("research", input, call)

    @step(seconds=20)
    def generate_article(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _ask("generate", input, call)

    @step(seconds=20)
    def store_content(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        return _ask("store", input, call)

    @step(seconds=20)
    def emit_event(self, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
        """The event's data, once the service confirms that it has the article. The run emits it."""
        return input | _ask("confirm", input, call)

    def _request(self, run: Turn, keywords: list[str]) -> None:
        run.state.pending += len(keywords)
        for keyword in keywords:
            run.emit("research.requested", {"brand": run.key, "keyword": keyword})

    def _open(self, run: Turn) -> None:
        state = run.state
        while state.researched and len(state.drafts) < MOST_DRAFTS:
            keyword = state.researched.pop(0)
            state.drafts.append(keyword)
            run.begin("fetch_research", {"keyword": keyword})

    def _close(self, run: Turn, keyword: str) -> None:
        if keyword in run.state.drafts:
            run.state.drafts.remove(keyword)
        self._open(run)


def _ask(path: str, input: dict[str, Any], call: StepCall) -> dict[str, Any]:
    headers = {"Idempotency-Key": call.key, "Correlation-Id": call.correlation_id}
    try:
        answer = requests.post(f"{os.environ['DEMO_SERVICE']}/{path}", json=input, headers=headers, timeout=15)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise TryLater(f"The service does not answer: {type(error).__name__}") from error
    result: dict[str, Any] = answer.json()
    return result


def _until_sunday(now: datetime) -> int:
    """Seconds until the next Sunday, 06:00 in the zone of `now`."""
    at = now.replace(hour=6, minute=0, second=0, microsecond=0) + timedelta(days=6 - now.weekday())
    return int((at if at > now else at + timedelta(days=7)).timestamp() - now.timestamp())
