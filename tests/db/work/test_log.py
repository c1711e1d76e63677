"""The log line of each try."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from config import logs
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered, Rejected
from notifications.models import Delivery
from schedules.firing import fire
from tests.make import (
    NINE,
    NOON,
    answers,
    happen,
    make_channel,
    make_delivery,
    make_schedule,
    make_user,
    noted,
    send_now,
    taken,
    try_once,
)
from work.answers import Retryable
from work.engine import log_lines, recovery, settlement
from work.kinds import KINDS, Kind

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "work.engine.log_lines")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == "work.engine.log_lines"]


def test_an_event_that_is_handled_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    chain = uuid4()
    event = happen(make_user(), source="shop\n{forged", data={"token": "hidden"}, correlation_id=chain)
    [line] = lines(caplog)
    assert line.pop("delay_ms") >= 0 and line.pop("queued_at").startswith(f"{event.created_at:%Y-%m-%dT}")
    assert line == {
        "action": "events.handle",
        "id": str(event.id),
        "type": "order.paid",
        "source": "shop\n{forged",
        "correlation_id": str(chain),
        "attempt": 1,
        "outcome": "handled",
        "reason": "",
        "will_retry": False,
    }
    assert "\n" not in caplog.messages[-1] and "hidden" not in caplog.text


@pytest.mark.parametrize(
    ("answer", "outcome", "will_retry"),
    [
        (Delivered(noted("secret receipt")), "delivered", False),
        (Retryable(noted("secret refusal")), "retryable", True),
        (Rejected(noted("secret refusal")), "rejected", False),
    ],
)
def test_each_try_of_a_delivery_is_one_line_that_says_whether_another_follows(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, answer: Any, outcome: str, will_retry: bool
) -> None:
    answers(monkeypatch, answer)
    delivery = make_delivery(make_channel(make_user()))
    try_once(delivery)
    [line] = lines(caplog)
    assert (line["action"], line["type"], line["id"]) == ("notifications.deliver", "inbox", str(delivery.id))
    assert (line["outcome"], line["will_retry"]) == (outcome, will_retry)
    assert (line["source"], line["correlation_id"]) == ("", str(delivery.notification.batch_id))
    assert "secret" not in caplog.text


def test_the_source_of_a_reminders_delivery_is_its_schedule(caplog: pytest.LogCaptureFixture) -> None:
    user = make_user()
    schedule = make_schedule(user, [make_channel(user)])
    fire.fire_due(NINE)
    send_now(Delivery.objects.get().id)
    assert [line["source"] for line in lines(caplog)] == [str(schedule.id)]


def test_one_that_is_withdrawn_is_one_line_and_one_that_waits_none(caplog: pytest.LogCaptureFixture) -> None:
    channel = make_channel(make_user())
    send_now(make_delivery(channel, available_at=NOON.replace(year=2999)).id)
    assert lines(caplog) == []
    channel.user.is_active = False
    channel.user.save()
    send_now(make_delivery(channel).id)
    assert [(line["outcome"], line["reason"]) for line in lines(caplog)] == [("cancelled", "switched-off")]


def test_nothing_is_written_above_its_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "work.engine.log_lines")
    happen(make_user())
    assert lines(caplog) == []


def test_what_rescue_ends_is_one_line_too(caplog: pytest.LogCaptureFixture) -> None:
    user = make_user()
    due = timezone.now() - timedelta(seconds=100)
    inbox = make_channel(user)
    late, lost = (make_delivery(inbox) for _ in range(2))
    settlement.release(DELIVERY, taken(lost.id), noted("Not now."))
    Delivery.objects.update(available_at=due)
    taken(lost.id)
    Delivery.objects.filter(id=late.id).update(expires_at=due)
    Delivery.objects.filter(id=lost.id).update(lease_until=due)
    assert recovery.expire(DELIVERY, 10) == 1
    assert recovery.recover(DELIVERY, 10).total() == 1
    first, second = lines(caplog)
    common = {"action": "notifications.deliver", "type": "inbox", "source": ""}
    assert common.items() <= first.items() and common.items() <= second.items()
    assert (first["id"], first["outcome"], first["reason"], first["will_retry"]) == (
        str(late.id),
        "expired",
        "stale",
        False,
    )
    assert (second["id"], second["outcome"], second["attempt"], second["will_retry"]) == (str(lost.id), "lost", 1, True)
    assert [line["correlation_id"] for line in (first, second)] == [
        str(one.notification.batch_id) for one in (late, lost)
    ]
    for line in (first, second):
        assert datetime.fromisoformat(line["queued_at"]) == due.replace(microsecond=due.microsecond // 1000 * 1000)
        assert 99_000 < line["delay_ms"] < 130_000


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_each_kind_of_work_can_say_what_a_line_needs(kind: Kind[Any]) -> None:
    assert log_lines.load(kind, [uuid4()]) == []


def test_a_line_has_fields_of_its_own_in_json(caplog: pytest.LogCaptureFixture) -> None:
    happen(make_user(), source="shop\n\u202e{forged", correlation_id="a?token=hidden")
    [record] = [one for one in caplog.records if one.name == "work.engine.log_lines"]
    written = logs.JSONFormatter().format(record)
    assert "\n" not in written and "\u202e" not in written
    line = json.loads(written)
    assert list(line)[:4] == ["time", "level", "logger", "message"]
    assert (line["message"], line["action"], line["attempt"]) == ("events.handle: handled", "events.handle", 1)
    assert (line["source"], line["correlation_id"]) == ("shop\n\u202e{forged", "a?token=•••")
    text = logs.RedactingFormatter("%(message)s").format(record)
    assert json.loads(text) == {name: line[name] for name in list(line)[4:]}
