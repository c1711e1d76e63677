"""What children read: all of it without Django, and none of it in the process that asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import pytest

from common.parsing import strict_json
from common.parsing.pool import parsed
from demo.receivers import HTTPReceiver, Reply
from jobs.kinds.base import Found
from jobs.kinds.feed import Feed
from jobs.reading import charset, extract, feeds
from jobs.reading.fetch import Fetch
from schedules.job_kinds import calendar_file
from tests.unit.common import parsing_tasks
from tests.unit.jobs.test_web_value import KIND, ask, watch

CALENDAR = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260301T090000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


@pytest.mark.parametrize(
    ("read", "arguments"),
    [
        (extract.value, (b"<p>12,5 EUR", "", "html", "p", "")),
        (extract.value, (b'{"a": 1}', "", "json", "a", "")),
        (extract.value, (b"a 1", "", "text", "a (.)", "")),
        (feeds.read, (b"<rss/>", "", "https://example.org/")),
        (calendar_file.read, (CALENDAR, "", datetime(2026, 1, 1, tzinfo=UTC))),
        (strict_json.read, (b'{"a": [1]}',)),
    ],
)
def test_a_reader_needs_no_django(read: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert parsed(read, *arguments) == read(*arguments)
    assert parsed(parsing_tasks.loaded, read.__module__.partition(".")[0])
    assert not parsed(parsing_tasks.loaded, "django")


def test_pages_and_feeds_are_read_in_a_child_alone(receiver: HTTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_named(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def here(*_: Any) -> Any:
            raise AssertionError("read in this process")

        return here

    for module, name in ((extract, "find"), (charset, "decode"), (extract, "value"), (feeds, "read")):
        monkeypatch.setattr(module, name, only_named(getattr(module, name)))
    receiver.answer = Reply(headers={"Content-Type": "application/json"}, body=b'{"price": 12.5}')
    price = ask(watch("above", url=receiver.url, how="json", expression="price", limit="12"))
    assert KIND.check(price, Fetch(5)) == Found({"text": "12.5", "number": "12.5", "other": None, "unit": ""})
    receiver.answer = Reply(body=b"<rss><channel><title>Blog</title></channel></rss>")
    assert Feed().check(ask({"url": receiver.url}), Fetch(5)) == Found({"title": "Blog", "entries": [], "dropped": 0})
