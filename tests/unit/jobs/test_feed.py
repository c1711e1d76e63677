"""When a feed speaks, from check to check."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from demo.receivers import HTTPReceiver, Reply
from jobs.checks.results import instant, not_taken
from jobs.kinds.base import Found, Nothing, Say
from jobs.kinds.feed import MOST_REMEMBERED, Feed, FeedCode
from jobs.reading.fetch import Fetch, Refused
from tests.unit.jobs.test_web_value import NOW, ask

KIND = Feed()


def decide(receiver: HTTPReceiver, memory: Any, *titles: str, day: int = 0) -> Say | Nothing:
    items = "".join(f"<item><title>{title}</title><link>/{title}</link></item>" for title in titles)
    receiver.answer = Reply(body=f"<rss><channel><title>Blog</title>{items}</channel></rss>".encode())
    payload = {"url": receiver.url}
    found = KIND.check(ask(payload), Fetch(5))
    assert isinstance(found, Found)
    return KIND.decide(replace(ask(payload, memory), now=NOW + timedelta(days=day)), found.value)


def test_the_first_check_remembers_and_says_nothing(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None, "b", "a")
    assert isinstance(first, Nothing)
    assert (first.reason.code, len(first.memory["keys"])) == (FeedCode.FIRST, 2)
    assert isinstance(decide(receiver, first.memory, "b", "a"), Nothing)


def test_an_empty_feed_is_remembered_too(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None)
    assert first.memory == {"keys": [], "silence": None}
    assert isinstance(decide(receiver, first.memory, "a"), Say)


def test_new_entries_come_in_one_notification_and_once(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None, "a")
    second = decide(receiver, first.memory, "c", "b", "a")
    assert isinstance(second, Say)
    assert second.words == {
        "count": "2",
        "feed": "Blog",
        "title": "c",
        "link": f"{receiver.origin}/c",
        "entries": f"c\n{receiver.origin}/c\n\nb\n{receiver.origin}/b",
    }
    assert isinstance(decide(receiver, second.memory, "c", "b"), Nothing)
    third = decide(receiver, decide(receiver, second.memory, "c").memory, "c", "b", "a")
    assert isinstance(third, Nothing), "an entry that was away for a while is not new"


def test_many_new_entries_are_counted_and_some_listed(receiver: HTTPReceiver) -> None:
    said = decide(receiver, [], *map(str, range(50)))
    assert isinstance(said, Say)
    assert (said.words["count"], said.words["entries"].count("\n\n")) == ("50", 10)
    assert said.words["entries"].endswith("and 40 more")


def test_what_is_not_taken_is_counted(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None, *map(str, range(203)))
    assert [(one["count"], one["example"]) for one in not_taken(first.reason.params)] == [(3, "")]
    assert "3 older ones are left out" in str(first.reason)


def test_its_memory_is_bounded(receiver: HTTPReceiver) -> None:
    said = decide(receiver, [f"old{number}" for number in range(MOST_REMEMBERED)], *map(str, range(250)))
    assert isinstance(said, Say)
    assert (len(said.memory["keys"]), said.memory["keys"][200]) == (MOST_REMEMBERED, "old0")


def told(receiver: HTTPReceiver, memory: Any, *days: int) -> tuple[list[int], Any]:
    """On which of these days the feed, with nothing new, is told to be silent."""
    found = []
    for day in days:
        decision = decide(receiver, memory, "a", day=day)
        assert isinstance(decision, Nothing)
        memory = decision.memory
        if decision.silent_since:
            found.append(day)
    return found, memory


def test_a_feed_that_brings_nothing_for_long_says_so_once(receiver: HTTPReceiver) -> None:
    days, memory = told(receiver, decide(receiver, None, "a").memory, 1, 2, 30, 31, 32, 100)
    assert days == [31]
    record = decide(receiver, memory, "a", day=101)
    assert instant(record.reason.params, "silent_since") == NOW + timedelta(days=1)
    assert "nothing since 23 November 2026" in str(record.reason)
    assert decide(receiver, memory, "a", day=102).memory == memory


def test_a_feed_that_came_back_may_pause_for_twice_as_long(receiver: HTTPReceiver) -> None:
    _, memory = told(receiver, decide(receiver, None, "a").memory, 1, 61)
    back = decide(receiver, memory, "b", "a", day=61)
    assert isinstance(back, Say)
    assert told(receiver, back.memory, 62, 100, 181, 182, 190)[0] == [182]


def test_a_feed_that_is_empty_from_the_start_is_not_silent(receiver: HTTPReceiver) -> None:
    memory = decide(receiver, None).memory
    for day in (1, 40, 80):
        decision = decide(receiver, memory, day=day)
        assert isinstance(decision, Nothing) and not decision.silent_since
        memory = decision.memory


def test_what_an_earlier_release_remembers_counts(receiver: HTTPReceiver) -> None:
    keys = decide(receiver, None, "a").memory["keys"]
    assert told(receiver, keys, 0, 29, 30, 31)[0] == [30]


@pytest.mark.parametrize("page", [b"", b"<html><body>Sorry</body></html>", b"<!DOCTYPE r [<!ENTITY a '&b;'>]><rss/>"])
def test_a_page_that_is_no_feed_is_an_error_of_the_check(page: bytes, receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(body=page)
    found = KIND.check(ask({"url": receiver.url}), Fetch(5))
    assert isinstance(found, Refused)
    assert found.reason.code == FeedCode.NOT_A_FEED
