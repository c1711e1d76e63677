"""Every code that the product writes has a sentence, and gets what its sentence shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from django.utils.translation import override

from common.texts.refusal import Refusal
from events.reasons import EventCode
from jobs.kinds.web_value import WebValueCode
from notifications.reasons import DeliveryCode
from work.reasons import Reason, sentence

ROOT = Path(__file__).parents[3]


def uses() -> Iterator[tuple[str, str, set[str] | None]]:
    """(where, name of the code, names of its parameters) of each use in the product; None where not called."""
    for folder in ("notifications", "jobs", "schedules", "watches", "events", "people", "config", "common"):
        for path in (ROOT / folder).rglob("*.py"):
            if "from notifications.reasons import" not in (text := path.read_text()):
                continue
            tree = ast.parse(text)
            called: dict[ast.AST, set[str] | None] = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                    given = {keyword.arg for keyword in node.keywords if keyword.arg}
                    splat = any(keyword.arg is None for keyword in node.keywords)
                    called[node.args[0]] = None if splat else given
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "DeliveryCode"
                ):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.attr, called.get(node)


def shown(code: DeliveryCode) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(code.text) if name}


def test_each_code_is_used() -> None:
    assert {DeliveryCode[name] for _, name, _ in uses() if name in DeliveryCode.__members__} == set(DeliveryCode)


def test_each_use_gives_what_its_sentence_shows() -> None:
    lacking = [
        (where, name) for where, name, given in uses() if given is not None and shown(DeliveryCode[name]) - given
    ]
    assert lacking == []


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(172_800, "2 days"), (5_400, "90 minutes"), (1, "1 second"), (0, "0 seconds"), (1.5, "1 second"), ("x", "x")],
)
def test_a_duration_is_shown_in_its_largest_whole_unit_also_a_damaged_one(seconds: object, shown: str) -> None:
    given_up = Reason(DeliveryCode.GIVEN_UP, seconds=seconds, why="")
    assert str(given_up) == f"Given up after {shown} without success."


@pytest.mark.parametrize(
    ("seconds", "shown"), [(9.99994, "10"), (10.4, "10.4"), (20, "20"), (1.66, "1.7"), (0.25, "0.25"), (60.0, "60")]
)
def test_seconds_are_said_as_people_say_them(seconds: float, shown: str) -> None:
    said = sentence(DeliveryCode.TIMEOUT, {"service": "Slack", "seconds": seconds})
    assert said == f"Slack did not answer within {shown} seconds."


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason(DeliveryCode.HTTP, service="the receiver", status=404), "The receiver answered 404 Not Found."),
        (Reason(DeliveryCode.HTTP, service="Slack", status=599), "Slack answered 599."),
        (
            Reason(DeliveryCode.TIMEOUT, service="the mail server", seconds=58.0),
            "The mail server did not answer within 58 seconds.",
        ),
        (Reason(DeliveryCode.UNREACHABLE, service="Slack", errno=113), "Slack could not be reached: No route to host."),
        (
            Reason(DeliveryCode.LIMIT_HOST, service="Webhook", amount=1_000, seconds=300.0, until=""),
            "Webhook takes 1,000 messages in 5 minutes to one host; this one waits.",
        ),
        (
            Reason(DeliveryCode.LIMIT_PERSON, amount=1, seconds=86_400.0, until="09:00 on 2 June"),
            "You may be sent 1 message a day; this one waits until 09:00 on 2 June.",
        ),
        (
            Reason(DeliveryCode.LIMIT_PERSON, amount=1, seconds=86_400.0, until="2020-06-02 09:00"),
            "You may be sent 1 message a day; this one waits until Tue 2 Jun 2020, 09:00.",
        ),
        (
            Reason(DeliveryCode.QUIET_HOURS, until="2020-06-02 09:00"),
            "Waits until Tue 2 Jun 2020, 09:00: your quiet hours.",
        ),
        (
            Reason(DeliveryCode.LIMIT_SERVICE, service="Telegram", amount=30, seconds=1.0, until=None),
            "Telegram takes 30 messages a second; before its turn it will be stale.",
        ),
        (
            Reason(DeliveryCode.BLOCKED).then(Reason(DeliveryCode.QUIET_HOURS, until="07:00")),
            "The bot was blocked or removed from the chat. Waits until 07:00: your quiet hours.",
        ),
        (
            Reason(
                DeliveryCode.BEFORE_FAILED,
                label="Chat",
                why=Reason(DeliveryCode.DISABLED, why=Reason(DeliveryCode.UNSUBSCRIBED)),
            ),
            "Chat failed: The channel is disabled: You unsubscribed, by the link in a message.",
        ),
        (
            Reason(DeliveryCode.NOT_ACKNOWLEDGED, minutes=1, label="Chat"),
            "nobody acknowledged it within 1 minute of Chat.",
        ),
        (Reason(DeliveryCode.NOTE, said="{said} {0} {said.x}"), "{said} {0} {said.x}"),
    ],
)
def test_a_sentence_shows_its_parameters(reason: Reason, text: str) -> None:
    assert str(reason) == text


@pytest.mark.parametrize(
    ("code", "params", "text"),
    [
        ("", {}, ""),
        ("of-a-newer-release", {}, "of-a-newer-release"),
        ("of-a-newer-release", {"said": "Hm."}, "Hm."),
        (DeliveryCode.HTTP, {}, "… answered …."),
        (DeliveryCode.HTTP, ["damaged"], "… answered …."),
        (DeliveryCode.HTTP, {"service": 1, "status": {"code": 7}}, "1 answered 7."),
        (DeliveryCode.UNREACHABLE, {"service": "Slack", "errno": "x"}, "Slack could not be reached: x."),
        (EventCode.UNMET, {"found": 5, "value": ""}, "… is 5; the rule asks that it … (empty)."),
        (
            DeliveryCode.LIMIT_PERSON,
            {"amount": None, "seconds": "x", "until": 1},
            "You may be sent None x; this one waits until 1.",
        ),
    ],
)
def test_an_unknown_code_and_damaged_parameters_are_readable(code: str, params: object, text: str) -> None:
    assert sentence(code, params) == text


def test_a_reason_survives_its_row() -> None:
    reason = Reason(
        DeliveryCode.BEFORE_FAILED, label="A\0\ud800", why=Reason(DeliveryCode.HTTP, service="Slack", status=404)
    )
    assert Reason.read(reason.code, reason.json) == reason
    assert "\\u0000" not in reason.json
    nested = reason
    for _ in range(50):
        nested = Reason(DeliveryCode.DISABLED, why=nested)
    assert str(nested).endswith("…")


def test_a_refusal_in_a_reason_stays_a_code_and_is_worded_where_it_is_read() -> None:
    with override("de"):
        stored = Reason(
            WebValueCode.UNREADABLE, host="a.example", problem=Refusal("found_too_much", count=9_000, longest=8)
        )
    assert stored.params["problem"] == {"code": "found_too_much", "params": {"count": 9_000, "longest": 8}}
    assert str(Reason.read(stored.code, stored.json)).endswith(
        "9,000 characters were found, and at most 8 are kept: choose a smaller part."
    )
    with override("de"):
        assert "9.000 Zeichen" in str(stored)


@pytest.mark.parametrize("params", [{}, {"count": None}, [], "x"])
def test_a_stored_refusal_with_damaged_parameters_is_readable_too(params: object) -> None:
    problem = {"code": "found_too_much", "params": params}
    assert "characters were found" in sentence(WebValueCode.UNREADABLE, {"host": "a", "problem": problem})
