"""From sign-up to delivery with real processes, and what becomes of it when they are killed on the way."""

from __future__ import annotations

import os
import re
import signal
from datetime import timedelta

import pytest
import requests

from demo.announcement import Announcement
from demo.checks import Checks
from demo.child import Child
from demo.installation import Installation, wait_until
from demo.outcome import Outcome, outcome
from demo.receivers import Hang, HTTPReceiver, Reply, SMTPReceiver
from demo.scenario import Scenario
from demo.services import Service
from tests.process.journey.conftest import Journey

pytestmark = pytest.mark.journey


def kill_9(child: Child) -> None:
    """With all its own children: what a machine that loses its power leaves behind."""
    os.killpg(child.pid, signal.SIGKILL)
    wait_until(lambda: child.exit_status() is not None, f"the death of {child.name}", within=180)
    child.stop(0.0)


def states(journey: Journey, title: str) -> list[str]:
    """Of its deliveries to inbox, mail and hook."""
    said = outcome(journey.site, title)
    return [sent.state for sent in said.sent] if said else []


def outcomes(said: Outcome, channel: str) -> list[str]:
    return [outcome for outcome, _ in said.of(channel).attempts]


def arrived_once(journey: Journey, title: str, said: Outcome) -> None:
    assert [sent.state for sent in said.sent] == ["delivered"] * 3
    assert journey.ada.inbox(title) == 1
    assert len(journey.mails(title)) == 1
    keys = {request.headers["webhook-id"] for request in journey.hook.requests}
    assert keys == {str(said.of("Hook").key)}


def test_a_reminder_goes_out_once_on_each_channel(journey: Journey) -> None:
    journey.remind("Straight on")
    said = journey.settled("Straight on")
    arrived_once(journey, "Straight on", said)
    assert timedelta(0) <= said.lateness < timedelta(seconds=30)  # `script/bench` shows how late it is
    [request] = journey.hook.requests
    assert request.verified(journey.secret)["data"]["subject"] == "Straight on"
    assert [outcomes(said, channel) for channel in ("Inbox", "Mail", "Hook")] == [["delivered"]] * 3


def test_what_its_reader_ended_ends_with_the_reason_and_both_secrets_sign_what_a_worker_posts(journey: Journey) -> None:
    browser, title = journey.ada._browser, "Ended and replaced"
    journey.remind(title, within=3_600)
    [hook] = journey.site.rows("SELECT id FROM notifications_channel WHERE address->>'url' = %s", journey.hook.origin)
    question = browser.open(f"/channels/{hook['id']}/secret/new/")
    shown = re.search(r"whsec_[A-Za-z0-9+/=]+", browser.send(question, question.form("replaces")).source)
    assert shown is not None
    [code] = [mail for mail in journey.mails("Your code for Carillon") if mail.recipients == [journey.ada.email]]
    link = code.message["List-Unsubscribe"].strip("<>")
    assert requests.get(link, timeout=60).status_code == 200
    assert requests.post(link, data={"List-Unsubscribe": "One-Click"}, timeout=60).status_code == 200
    journey.site.rows("UPDATE schedules_schedule SET next_fire_at = now() WHERE title = %s RETURNING id", title)
    said = journey.settled(title)
    assert [sent.state for sent in said.sent] == ["delivered", "dead", "delivered"]
    assert said.of("Mail").attempts[0][1] == "disabled"
    assert journey.mails(title) == []
    [request] = journey.hook.requests
    assert request.verified(shown[0]) == request.verified(journey.secret)


def test_a_worker_killed_while_it_sends_leaves_the_rest_to_the_next(journey: Journey) -> None:
    site, title = journey.site, "Worker down"
    journey.hook.answer = Hang()
    journey.remind(title)
    wait_until(lambda: states(journey, title) == ["delivered", "delivered", "sending"], "a send under way", within=180)
    wait_until(lambda: len(journey.hook.requests) == 1, "the post", within=180)
    kill_9(site.worker)
    journey.hook.answer = Reply()
    let_leases_run_out(site)
    site.start(site.worker)
    said = journey.settled(title)
    arrived_once(journey, title, said)
    assert outcomes(said, "Hook") == ["lost", "delivered"]
    assert outcomes(said, "Mail") == outcomes(said, "Inbox") == ["delivered"]


def test_a_slot_that_passed_while_beat_was_dead_is_fired_once_it_is_back(journey: Journey) -> None:
    site, title = journey.site, "Beat down"
    kill_9(site.beat)
    journey.remind(title, within=1.5)
    wait_until(
        lambda: site.rows("SELECT 1 FROM schedules_schedule WHERE title = %s AND next_fire_at < now()", title),
        "the slot",
        within=180,
    )
    site.start(site.beat)
    said = journey.settled(title)
    arrived_once(journey, title, said)
    assert said.lateness > timedelta(0)


def test_messages_lost_by_the_broker_are_rung_for_again(journey: Journey) -> None:
    site, title = journey.site, "Broker emptied"
    site.stop(site.worker)
    journey.remind(title, within=1)
    wait_until(
        lambda: site.rows("SELECT 1 FROM notifications_notification WHERE subject = %s", title), "firing", within=180
    )
    site.lose_messages()
    site.start(site.worker)
    arrived_once(journey, title, journey.settled(title))


def test_the_demo_counts_right(installation_and_post: tuple[Installation, SMTPReceiver], others: list[Service]) -> None:
    site, post = installation_and_post
    with HTTPReceiver() as pager, HTTPReceiver(Reply(404)) as moved, HTTPReceiver() as shop:
        counts = Scenario(site, post, pager, moved, others).run() + Checks(site, shop).run()
    counts += Announcement(site).run()
    assert [str(count) for count in counts if not count.exact] == []


def let_leases_run_out(site: Installation) -> None:
    """Ninety seconds, without the wait."""
    site.rows("UPDATE notifications_delivery SET lease_until = now() WHERE state = 'sending' RETURNING id")
