"""Incidents: alerts of one key are one incident, which rings until somebody acknowledges it or it is over."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.uuid7 import first_of
from events.flows.incident import ACKNOWLEDGED, RAISED, RESOLVED
from events.inbound import alerts
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Event, FlowEffect, FlowSettings, Run, Step
from events.pure import types
from events.pure.envelope import Envelope
from notifications.deliveries import acknowledge
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.make import NOON, happen, make_channel, make_delivery, make_failed_step, make_user, signed_in
from work.engine import runner
from work.engine.runner import TryAgain


@pytest.fixture
def channels(ada: User) -> list[Channel]:
    """In the order in which incidents ring on them."""
    own = [make_channel(ada, "email", label="Mail"), make_channel(ada, "webhook", label="Hook")]
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(one.id) for one in own]})
    return own


def alert(user: User, type: str, key: str = "disk", **data: Any) -> Event:
    return happen(user, type=type, data={"key": key, "title": "Disk full"} | data)


def handle_new() -> None:
    for event_id in Event.objects.filter(state="pending").exclude(type=types.WAIT_OVER).values_list("id", flat=True):
        Event.objects.filter(id=event_id).update(available_at=NOON)
        runner.run(EVENT, event_id, "worker")


def wait_over() -> None:
    timer = Event.objects.filter(type=types.WAIT_OVER, state="pending").latest("id")
    Event.objects.filter(id=timer.id).update(available_at=NOON)
    runner.run(EVENT, timer.id, "worker")


def rung() -> list[str]:
    return list(Delivery.objects.order_by("id").values_list("channel__label", flat=True))


def phase() -> str:
    return str(Run.objects.latest("id").state["phase"])


def test_without_settings_an_alert_opens_nothing(ada: User) -> None:
    alert(ada, RAISED)
    assert not Run.objects.exists()
    assert not FlowEffect.objects.exists()


def test_repeats_fold_into_one_incident_that_rings_once(ada: User, channels: list[Channel]) -> None:
    for _ in range(3):
        alert(ada, RAISED, severity="critical")
    run = Run.objects.get()
    assert (run.status, run.state["raised"]) == ("waiting", 3)
    assert rung() == ["Mail"]
    assert Notification.objects.get().subject == "critical: Disk full"


def test_it_rings_in_order_until_somebody_acknowledges(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    wait_over()
    wait_over()
    assert rung() == ["Mail", "Hook", "Mail"]
    happen(ada, type=ACKNOWLEDGED, data={"key": "disk"})
    assert phase() == "acknowledged"
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}
    alert(ada, RAISED)
    assert len(rung()) == 3


def test_it_rings_again_after_an_acknowledgement_that_led_to_no_end(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    happen(ada, type=ACKNOWLEDGED, data={"key": "disk"})
    wait_over()
    assert (phase(), rung()) == ("open", ["Mail", "Mail"])


def test_an_end_cancels_what_has_not_gone_out_and_is_told_once(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    alert(ada, RESOLVED)
    alert(ada, RESOLVED)
    alert(ada, ACKNOWLEDGED)
    assert phase() == "resolved"
    assert list(Notification.objects.order_by("id").values_list("subject", flat=True)) == [
        "Disk full",
        "Over: Disk full",
    ]
    assert list(Delivery.objects.order_by("id").values_list("state", flat=True)) == ["cancelled", "pending"]


def test_the_independent_order(ada: User, channels: list[Channel]) -> None:
    """Raise, raise, acknowledge, resolve, late raise."""
    alert(ada, RAISED)
    alert(ada, RAISED)
    happen(ada, type=ACKNOWLEDGED, data={"key": "disk"})
    alert(ada, RESOLVED)
    alert(ada, RAISED)
    run = Run.objects.get()
    assert (run.state["phase"], run.state["raised"], run.state["reopened"], run.state["rings"]) == ("open", 3, 1, 1)


def record(user: User, *kinds: str) -> list[Event]:
    """Events that wait for a worker, in the order in which they are recorded."""
    data = {"key": "disk", "title": "Disk full"}
    made = [Envelope(type=kind, data=data, source="monitor") for kind in kinds]
    ledger.record(user.pk, made)
    return [Event.objects.get(key=one.key) for one in made]


def handle(*events: Event) -> None:
    for event in events:
        Event.objects.filter(id=event.id).update(available_at=NOON)
        with suppress(TryAgain):
            runner.run(EVENT, event.id, "worker")


def test_an_end_waits_for_the_alert_before_it_that_no_worker_has_handled(ada: User, channels: list[Channel]) -> None:
    raised, resolved = record(ada, RAISED, RESOLVED)
    handle(resolved)
    assert Event.objects.get(id=resolved.id).state == "pending"
    handle(raised, resolved)
    assert phase() == "resolved"
    [alone] = record(make_user(), RESOLVED)
    handle(alone)  # nothing is before it
    assert Event.objects.get(id=alone.id).state == "handled"


@pytest.mark.parametrize("kinds", [(RESOLVED, RAISED), (RAISED, RESOLVED)])
def test_the_alert_or_end_that_was_recorded_last_counts_whichever_is_handled_first(
    ada: User, channels: list[Channel], kinds: tuple[str, str]
) -> None:
    alert(ada, RAISED)
    handle(*reversed(record(ada, *kinds)))
    assert phase() == ("open" if kinds[-1] == RAISED else "resolved")
    assert Run.objects.get().state["raised"] == 2


def test_an_end_counts_also_after_the_clock_was_set_back(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    run = Run.objects.get()
    run.state["newest"] = str(first_of(timezone.now() + timedelta(hours=1)))
    run.save()
    alert(ada, RESOLVED)
    assert phase() == "resolved"


def test_flapping_is_one_incident_that_rings_once(ada: User, channels: list[Channel]) -> None:
    for _ in range(5):
        alert(ada, RAISED)
        alert(ada, RESOLVED)
    assert Run.objects.get().state["reopened"] == 4
    assert Notification.objects.count() == 2  # one ring, one end


def test_one_that_stays_open_after_flapping_rings_again(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    alert(ada, RESOLVED)
    alert(ada, RAISED)
    wait_over()
    assert Run.objects.get().state["rings"] == 2
    alert(ada, RESOLVED)
    assert Notification.objects.filter(subject__startswith="Over").count() == 2


def test_after_the_time_of_flapping_another_incident_opens(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    alert(ada, RESOLVED)
    wait_over()
    assert Run.objects.get().status == "finished"
    alert(ada, RAISED)
    assert Run.objects.count() == 2


def test_done_in_a_message_acknowledges(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    assert acknowledge.acknowledge(Notification.objects.get().id)
    handle_new()
    assert phase() == "acknowledged"


def test_snooze_in_a_message_rings_nowhere_before_that(ada: User, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    until = timezone.now() + timedelta(hours=3)
    acknowledge.snooze(Notification.objects.get().id, until)
    handle_new()
    run = Run.objects.get()
    assert run.wait_until is not None
    assert (phase(), abs(run.wait_until - until) < timedelta(minutes=5)) == ("acknowledged", True)
    assert not Delivery.objects.filter(state="pending").exists()
    wait_over()
    assert (phase(), rung()[-1]) == ("open", "Mail")


@pytest.mark.parametrize("again", ["soon", True, 0, 10**9])
def test_a_time_that_is_none_counts_as_not_given(ada: User, channels: list[Channel], again: Any) -> None:
    alert(ada, RAISED)
    alert(ada, ACKNOWLEDGED, again=again)
    wait_until = Run.objects.get().wait_until
    assert wait_until is not None
    assert wait_until < timezone.now() + timedelta(hours=2)


def test_switched_off_an_open_incident_goes_on_to_its_end_and_no_other_opens(
    ada: User, channels: list[Channel]
) -> None:
    alert(ada, RAISED)
    FlowSettings.objects.update(enabled=False)
    wait_over()
    assert rung() == ["Mail", "Hook"]
    alert(ada, RAISED)
    alert(ada, RAISED, key="another")
    assert Run.objects.get().state["raised"] == 2
    alert(ada, RESOLVED)
    assert phase() == "resolved"
    wait_over()
    alert(ada, RAISED)
    assert Run.objects.get().status == "finished"
    assert set(FlowEffect.objects.values_list("outcome", flat=True)) == {"applied"}


def test_a_storm_makes_one_incident_a_key(ada: User, channels: list[Channel]) -> None:
    for number in range(60):
        alert(ada, RAISED, key=f"disk{number % 5}")
    assert Run.objects.count() == 5
    assert Delivery.objects.count() == 5
    assert sum(run.state["raised"] for run in Run.objects.all()) == 60


def test_the_pages(ada: User, browser: Client, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    run = Run.objects.get()
    assert b"Disk full" in browser.get(reverse("events:incidents")).content
    page = browser.get(reverse("events:run", args=[run.id]))
    assert "Raised" in page.text
    assert "raised once, rang once" in page.text
    assert "Being sent." in page.text
    browser.post(reverse("events:incident-acknowledge", args=[run.id]))
    browser.post(reverse("events:incident-acknowledge", args=[run.id]))
    handle_new()
    assert phase() == "acknowledged"
    browser.post(reverse("events:incident-resolve", args=[run.id]))
    handle_new()
    assert phase() == "resolved"
    assert "Nobody has answered" not in browser.get(reverse("events:run", args=[run.id])).text
    assert "No incident is open." in browser.get(reverse("events:incidents")).text
    assert "Disk full" in browser.get(reverse("events:incidents"), {"all": ""}).text
    browser.post(reverse("events:run-end", args=[run.id]))
    assert Run.objects.get().status == "finished"
    assert browser.get(reverse("events:runs")).status_code == 200


def test_the_pages_say_what_was_done_once_it_is(ada: User, browser: Client, channels: list[Channel]) -> None:
    alert(ada, RAISED)
    run = Run.objects.get()
    with patch("events.web.runs._is_applied", return_value=True):
        for act, text in (("acknowledge", "It is acknowledged."), ("resolve", "It is over.")):
            assert text in browser.post(reverse(f"events:incident-{act}", args=[run.id]), follow=True).text


def test_a_failed_step_is_retried_or_skipped_on_the_page_of_its_run(ada: User, browser: Client) -> None:
    run = Run.objects.create(user=ada, flow="brand", key="llc", correlation_id=uuid4())
    retried, skipped = make_failed_step(run), make_failed_step(run, key="2")
    for step, act in ((retried, "retry"), (skipped, "skip")):
        url = reverse(f"events:step-{act}", args=[step.id])
        assert url in browser.get(reverse("events:run", args=[run.id])).text
        assert signed_in().post(url).status_code == 404
        assert "has not failed" not in browser.post(url, follow=True).text
        assert "has not failed" in browser.post(url, follow=True).text
    assert [step.state for step in Step.objects.order_by("key")] == ["pending", "cancelled"]


def test_settings_choose_channels_in_order(ada: User, browser: Client) -> None:
    first, second = make_channel(ada, "email"), make_channel(ada, "webhook")
    url = reverse("events:incident-settings")
    assert browser.get(url).status_code == 200
    values = {"enabled": "on", "wait": 3, "again": 30, "flapping": 5}
    refused = browser.post(url, values)
    assert (refused.status_code, b"Choose at least one channel." in refused.content) == (200, True)
    strange = make_channel(make_user(), "email")
    assert browser.post(url, values | {"first": strange.id}).status_code == 200
    browser.post(url, values | {"first": second.id, "second": first.id})
    stored = FlowSettings.objects.get(user=ada)
    assert stored.enabled
    chosen = {"channels": [str(second.id), str(first.id)], "wait": 3, "again": 30, "flapping": 5}
    assert stored.settings == chosen | {"installation": False}
    assert str(second.id).encode() in browser.get(url).content


def test_a_heartbeat_of_uptime_kuma_is_an_alert() -> None:
    body: dict[str, Any] = {
        "heartbeat": {"monitorID": 7, "status": 0, "time": "2026-06-01 12:00:00", "msg": "timeout", "important": True},
        "monitor": {"id": 7, "name": "Shop", "url": "https://shop.example.org"},
        "msg": "[Shop] Down",
    }
    assert alerts.are_alerts(body)
    [(type, _, data)] = alerts.read(body, 100)
    assert (type, data["key"], data["title"], data["summary"]) == (RAISED, "uptime-kuma-7", "Shop", "timeout")
    assert types.problem(type, data) is None
    body["heartbeat"]["status"] = 1
    [(type, _, data)] = alerts.read(body, 100)
    assert (type, data["ends_at"]) == (RESOLVED, "2026-06-01 12:00:00Z")
    body["heartbeat"]["status"] = 2
    assert not alerts.are_alerts(body)
    assert not alerts.are_alerts({"heartbeat": None, "monitor": None, "msg": "a test"})


def test_the_end_of_an_incident_withdraws_no_other_message(ada: User, channels: list[Channel]) -> None:
    other = make_delivery(channels[0])
    alert(ada, RAISED)
    alert(ada, RESOLVED)
    other.refresh_from_db()
    assert other.state == "pending"
    assert Delivery.objects.filter(state="cancelled").exists()
