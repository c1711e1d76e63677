"""When a watched value speaks, from check to check."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from demo.receivers import Drip, HTTPReceiver, Reply
from jobs.kinds.base import KEEP, Ask, Found, Say, Source
from jobs.kinds.web_value import WebValue, WebValueCode
from jobs.reading.fetch import Fetch, Later, Refused, Unfit
from jobs.reasons import JobCode
from notifications.net.http import NotSent
from tests.network import closed_port

TEXT, FIRST = "not a number", "nothing yet"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
KIND = WebValue()


def ask(payload: dict[str, Any], memory: Any = None, source: Source | None = None) -> Ask:
    return Ask(
        user_id=1,
        origin_id=None,
        zone=ZoneInfo("UTC"),
        slot=NOW,
        now=NOW,
        payload=payload,
        memory=memory,
        source=source,
    )


def watch(condition: str, **more: Any) -> dict[str, Any]:
    return {"condition": condition, "how": "text", "expression": "(?s).+", "url": "https://example.org/", **more}


def told(payload: dict[str, Any], *pages: str, receiver: HTTPReceiver) -> list[str]:
    """The change that is said at each of these checks; "" where it stays silent."""
    said, memory = [], None
    payload = payload | {"url": receiver.url}
    for page in pages:
        receiver.answer = (
            Reply(500) if page == "500" else Reply(headers={"Content-Type": "text/plain"}, body=page.encode())
        )
        found = KIND.check(ask(payload, memory), Fetch(5))
        assert isinstance(found, Found), found
        decision = KIND.decide(ask(payload, memory), found.value)
        said.append(decision.words["change"] if isinstance(decision, Say) else "")
        memory = memory if decision.memory is KEEP else decision.memory
    return said


@pytest.mark.parametrize(
    ("payload", "pages", "said"),
    [
        (watch("changed"), ["a", "a", "b", "b"], ["", "", TEXT, ""]),
        # A page that alternates: each change once.
        (watch("changed"), ["a", "b", "a", "b"], ["", TEXT, TEXT, TEXT]),
        (watch("changed"), ["10", "12", "9"], ["", "+2 (+20.00 %)", "-3 (-25.00 %)"]),
        (watch("below", limit="9"), ["12 €", "8 €", "7", "9", "8"], ["", "-4 (-33.33 %)", "", "", "-1 (-11.11 %)"]),
        (watch("below", limit="100"), ["90"], [FIRST]),
        (watch("above", limit="1.000,5", mark=","), ["1.000,50", "1.000,6"], ["", "+0.1 (+0.01 %)"]),
        (watch("above", limit="5", always=True), ["6", "7", "5"], [FIRST, "+1 (+16.67 %)", ""]),
        (watch("by", limit="10"), ["100", "109", "110", "101", "100"], ["", "", "+10 (+10.00 %)", "", "-10 (-9.09 %)"]),
        (watch("by", limit="10 %"), ["50", "54", "55", "49.5"], ["", "", "+5 (+10.00 %)", "-5.5 (-10.00 %)"]),
        (watch("by", limit="10 %"), ["0", "0", "0.1"], ["", "", "+0.1"]),
        (watch("equals", limit="sold  out"), ["open", "Sold out", "sold out", "open"], ["", TEXT, "", ""]),
        (watch("contains", limit="Ticket"), ["none", "2 tickets", "1 ticket"], ["", TEXT, ""]),
        (watch("unreachable"), ["up", "500", "500", "up", "500"], ["", "http", "", "", "http"]),
        (watch("unreachable", always=True), ["500", "500"], ["http", "http"]),
    ],
)  # fmt: skip
def test_a_condition_speaks_when_it_begins_to_hold(
    payload: dict[str, Any], pages: list[str], said: list[str], receiver: HTTPReceiver
) -> None:
    found = told(payload, *pages, receiver=receiver)
    assert ["http" if "500" in one else one for one in found] == said


def test_its_words_and_its_evidence_show_the_value_as_it_was_read() -> None:
    decision = KIND.decide(
        ask(watch("below", limit="100"), {"text": "120 €", "number": "120", "holds": False}),
        {"text": "89,90 €", "number": "89.9"},
    )
    assert isinstance(decision, Say)
    assert str(decision.reason) == "checked example.org: 89,90 € (read as 89.9), now below 100"
    assert decision.words == {
        "label": "(?s).+",
        "value": "89,90 €",
        "previous": "120 €",
        "change": "-30.1 (-25.08 %)",
        "url": "https://example.org/",
    }


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<p>1.299,- €", "1.299,- € (read as 1,299.00 EUR)"),
        ("<p>1.299 €", "1.299 € (read as 1,299.00 EUR, but it may be 1.299 EUR: choose how numbers are written)"),
        ("<html lang=de><p>1.299 €", "1.299 € (read as 1,299.00 EUR)"),
        ("<p>1,299", "1,299 (read as 1,299, but it may be 1.299: choose how numbers are written)"),
        ("<p>90", "90"),
    ],
)
def test_a_number_is_told_as_it_was_read_with_its_unit_and_its_doubt(
    page: str, said: str, receiver: HTTPReceiver
) -> None:
    receiver.answer = Reply(body=page.encode())
    asked = ask(watch("below", limit="100", how="html", expression="p", url=receiver.url))
    found = KIND.check(asked, Fetch(5))
    assert isinstance(found, Found)
    assert KIND.decide(asked, found.value).reason.params["value"] == said


@pytest.mark.parametrize(
    ("payload", "page", "code"),
    [
        (watch("changed", expression="x"), b"nothing", WebValueCode.NOT_FOUND),
        (watch("above", limit="5"), b"many", WebValueCode.NO_NUMBER),
        (watch("changed", how="json", expression="a"), b"<html>", WebValueCode.UNREADABLE),
        (watch("changed", expression="("), b"x", WebValueCode.UNREADABLE),
        (watch("changed", how="strange"), b"x", JobCode.UNREADABLE_PAYLOAD),
        (watch("sometimes"), b"x", JobCode.UNREADABLE_PAYLOAD),
        (watch("above", limit=5), b"x", JobCode.UNREADABLE_PAYLOAD),
    ],
)
def test_what_cannot_be_read_is_an_error_of_the_check(
    payload: dict[str, Any], page: bytes, code: str, receiver: HTTPReceiver
) -> None:
    receiver.answer = Reply(body=page)
    found = KIND.check(ask(payload | {"url": receiver.url}), Fetch(5))
    assert isinstance(found, Refused)
    assert (found.reason.code, str(found.reason)[-1]) == (code, ".") or found.reason.code == WebValueCode.NOT_FOUND


def test_a_source_that_fails_is_an_error_unless_that_is_the_question(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(503)
    with pytest.raises(Unfit) as failure:
        KIND.check(ask(watch("changed", url=receiver.url)), Fetch(5))
    assert isinstance(failure.value.answer, Later)
    for url, deadline in ((receiver.url, 5.0), (f"http://127.0.0.1:{closed_port()}/", 5.0), ("http://x.invalid/", 5.0)):
        found = KIND.check(ask(watch("unreachable", url=url)), Fetch(deadline))
        assert isinstance(found, Found) and found.value["down"]
    receiver.answer = Drip("body")
    found = KIND.check(ask(watch("unreachable", url=receiver.url)), Fetch(0.3))
    assert isinstance(found, Found) and found.value["down"]


def test_a_page_that_is_too_large_can_be_reached(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(body=b"x" * 3_000_000)
    assert KIND.check(ask(watch("unreachable", url=receiver.url)), Fetch(5)) == Found({"down": None})


def test_an_address_in_a_private_network_is_an_error_and_not_unreachable() -> None:
    with pytest.raises(NotSent) as failure:
        KIND.check(ask(watch("unreachable", url="http://169.254.169.254/")), Fetch(1))
    assert failure.value.refused


def test_a_connection_lends_its_headers_to_its_own_host_only(receiver: HTTPReceiver) -> None:
    def source(url: str) -> Source:
        return Source(id=uuid4(), label="Shop", address={"url": url}, secrets={"X-Key": "planted"})

    payload = watch("changed", url=receiver.url)
    KIND.check(ask(payload, source=source(receiver.origin + "/api")), Fetch(5))
    assert receiver.requests[0].headers["X-Key"] == "planted"
    with pytest.raises(Unfit) as failure:
        KIND.check(ask(payload, source=source("https://example.org/")), Fetch(5))
    assert failure.value.answer.reason.code == JobCode.OTHER_HOST
    assert len(receiver.requests) == 1


FORM = {"url": "https://example.org/", "condition": "below", "limit": "100", "how": "html", "expression": ".price"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://127.0.0.1:22/"}, "url"),
        ({"condition": "never"}, "condition"),
        ({"limit": ""}, "limit"),
        ({"limit": "cheap"}, "limit"),
        ({"limit": "1.299"}, "limit"),
        ({"condition": "by", "limit": "-5"}, "limit"),
        ({"condition": "contains", "limit": ""}, "limit"),
        ({"how": "pdf"}, "how"),
        ({"expression": ""}, "expression"),
        ({"expression": "p:hover"}, "expression"),
        ({"how": "text", "expression": "("}, "expression"),
        ({"mark": ";"}, "mark"),
    ],
)
def test_the_form_names_the_field_that_is_wrong(changes: dict[str, str], field: str) -> None:
    form = KIND.form(FORM | changes)
    assert list(form.errors) == [field]


def test_only_what_its_condition_needs_is_stored() -> None:
    def stored(**changes: str) -> dict[str, Any]:
        form = KIND.form(FORM | {"mark": ",", "always": "on"} | changes)
        assert form.is_valid(), form.errors
        return KIND.payload(form.cleaned_data)

    assert stored() == FORM | {"mark": ",", "always": True}
    assert stored(condition="changed").keys() == {"url", "condition", "how", "expression"}
    assert stored(condition="unreachable").keys() == {"url", "condition", "always"}
    assert KIND.summary(stored()) == ".price at example.org, only if it goes below 100"
    assert KIND.summary(stored(name="Milk")) == "Milk (.price) at example.org, only if it goes below 100"
    assert KIND.summary(stored(condition="unreachable")) == "example.org, only if it cannot be reached"


def test_always_says_the_value_at_each_check_by_its_name() -> None:
    question = ask(watch("always", name="Milk"))
    first = KIND.decide(question, {"text": "2.00", "number": "2.00"})
    assert isinstance(first, Say) and first.words["label"] == "Milk"
    same = KIND.decide(ask(question.payload, first.memory), {"text": "2.00", "number": "2.00"})
    assert isinstance(same, Say) and (same.words["value"], same.words["previous"]) == ("2.00", "2.00")


def test_memories_and_answers_can_be_stored(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(body=b"a\x00\xff" * 10)
    found = KIND.check(ask(watch("changed", url=receiver.url)), Fetch(5))
    assert isinstance(found, Found)
    assert "\0" not in found.value["text"]
