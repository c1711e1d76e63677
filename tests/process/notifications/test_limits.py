"""Two real workers at once: never more than the service takes, and whoever dies while it defers loses nothing."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.utils import timezone

from demo.child import Child
from demo.receivers import HTTPReceiver
from demo.receivers.discord import WEBHOOK, answer
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery
from tests.make import make_channel, make_delivery, make_user
from tests.process.notifications.conftest import environment, send_in_a_process
from work.broker import wakes
from work.engine import rescue

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def discord() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(answer) as receiver:
        yield receiver


def make_webhook(**overrides: Any) -> Channel:
    return make_channel(make_user(), "discord", {"webhook": WEBHOOK}, **{"address": {"ending": "1234"}} | overrides)


@pytest.fixture
def workers(broker: redis.Redis, discord: HTTPReceiver) -> Iterator[list[Child]]:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "WARNING"]
    celery += ["-Q", "deliveries,events,jobs,bulk,maintenance", "--without-mingle", "--without-gossip"]
    surroundings = environment(DISCORD_URL=discord.origin)
    children = [
        Child(name, [*celery, "-n", f"{name}@%h"], ready_sign=".> maintenance", environment=surroundings)
        for name in ("one", "two")
    ]
    for child in children:
        child.start()
    yield children
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda child: child.stop(10.0), children))


@pytest.mark.usefixtures("workers")
def test_two_workers_never_send_more_than_a_webhook_takes(discord: HTTPReceiver) -> None:
    channel = make_webhook()
    wakes.publish([wakes.Wake(outbox.DELIVER, make_delivery(channel).id, 0.0, channel.user_id) for _ in range(10)])
    deadline = time.monotonic() + 120
    while Delivery.objects.exclude(state="delivered").exists():
        assert time.monotonic() < deadline, list(Delivery.objects.values_list("state", "reason_code"))
        time.sleep(0.3)
        rescue.rescue()
    arrived = sorted(request.at for request in discord.requests)
    assert len(arrived) == 10
    # Five in any two seconds; a request may be held up on its way for a third of a second on a busy machine.
    assert all(sixth - first > timedelta(seconds=1.7) for first, sixth in zip(arrived, arrived[5:], strict=False))
    claims = [delivery.history.count() for delivery in Delivery.objects.all()]
    assert sum(claims) <= 3 * len(claims)
    assert set(Delivery.objects.values_list("tries", flat=True)) == {1}


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(("on_unknown", "state"), [("retry", "pending"), ("", "unknown")])
def test_a_worker_killed_between_claim_and_deferral_is_settled_by_the_rule_for_an_unknown_outcome(
    on_unknown: str, state: str, discord: HTTPReceiver, tmp_path: Path
) -> None:
    channel = make_webhook(on_unknown=on_unknown)
    first, second = make_delivery(channel), make_delivery(channel)
    (tmp_path / "deferring").write_text("kill")
    for delivery in (first, second):
        ended = send_in_a_process(
            delivery,
            DISCORD_URL=discord.origin,
            CARILLON_FAULT_POINTS=str(tmp_path),
            SENDS_PER_PERSON_PER_DAY="1",
        )
    assert ended.returncode == -signal.SIGKILL, ended.stdout
    second.refresh_from_db()
    assert second.state == "sending"
    Delivery.objects.filter(id=second.id).update(lease_until=timezone.now() - timedelta(seconds=1))
    rescue.rescue()
    second.refresh_from_db()
    assert (second.state, second.history.get().outcome) == (state, "lost")
    assert len(discord.requests) == 1
