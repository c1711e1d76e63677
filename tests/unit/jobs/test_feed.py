"""When a feed speaks, from look to look."""

from __future__ import annotations

import pytest

from demo.receivers import HTTPReceiver, Reply
from jobs.fetch import Fetch, Refused
from jobs.kinds.base import Found, Nothing, Say
from jobs.kinds.feed import MOST_REMEMBERED, Code, Feed
from tests.unit.jobs.test_web_value import ask

KIND = Feed()


def decide(receiver: HTTPReceiver, memory: list[str] | None, *titles: str) -> Say | Nothing:
    items = "".join(f"<item><title>{title}</title><link>/{title}</link></item>" for title in titles)
    receiver.answer = Reply(body=f"<rss><channel><title>Blog</title>{items}</channel></rss>".encode())
    payload = {"url": receiver.url}
    found = KIND.look(ask(payload), Fetch(5))
    assert isinstance(found, Found)
    return KIND.decide(ask(payload, memory), found.value)


def test_the_first_look_remembers_and_says_nothing(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None, "b", "a")
    assert isinstance(first, Nothing)
    assert (first.reason.code, len(first.memory)) == (Code.FIRST, 2)
    assert isinstance(decide(receiver, first.memory, "b", "a"), Nothing)


def test_an_empty_feed_is_remembered_too(receiver: HTTPReceiver) -> None:
    first = decide(receiver, None)
    assert first.memory == []
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


def test_its_memory_is_bounded(receiver: HTTPReceiver) -> None:
    said = decide(receiver, [f"old{number}" for number in range(MOST_REMEMBERED)], *map(str, range(250)))
    assert isinstance(said, Say)
    assert (len(said.memory), said.memory[200]) == (MOST_REMEMBERED, "old0")


@pytest.mark.parametrize("page", [b"", b"<html><body>Sorry</body></html>", b"<!DOCTYPE r [<!ENTITY a '&b;'>]><rss/>"])
def test_a_page_that_is_no_feed_is_an_error_of_the_look(page: bytes, receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(body=page)
    found = KIND.look(ask({"url": receiver.url}), Fetch(5))
    assert isinstance(found, Refused)
    assert found.reason.code == Code.NOT_A_FEED
