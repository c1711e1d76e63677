"""A worker whose receiver hangs, and operators' settings that no worker can follow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from demo.child import Child, manage_command
from demo.receivers import HTTPReceiver, Reply
from demo.receivers.http import Hang
from notifications.deliveries import outbox
from notifications.models import Attempt, Delivery
from tests.make import make_channel, make_delivery, make_user
from tests.process.notifications.conftest import environment, run
from tests.process.notifications.test_pools import command
from work.broker import wakes

_RUN = """
import sys
from celery.__main__ import main
import config.celery
from notifications.providers.webhook import Webhook
Webhook.deadline = 6.0
sys.argv[0] = "celery"
sys.exit(main())
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize(
    ("pool", "shared", "concurrency", "most"), [("threads", "on", 16, 8), ("prefork", "off", 4, 2)]
)
def test_deliveries_to_a_quick_receiver_do_not_wait_for_one_that_hangs(
    pool: str, shared: str, concurrency: int, most: int
) -> None:
    with HTTPReceiver(Hang()) as silent, HTTPReceiver(lambda _: Reply(200)) as quick:
        # Another host, on the same machine.
        address = silent.origin.replace("127.0.0.1", "localhost")
        stuck = make_channel(make_user(), "webhook", address={"url": address})
        works = make_channel(make_user(), "webhook", address={"url": quick.origin})
        many = [make_delivery(stuck) for _ in range(40)]
        few = [make_delivery(works) for _ in range(10)]
        celery = command(pool, concurrency)
        variables = environment(
            DATABASE_POOL=shared, WEBHOOKS_PER_SECOND="1000", ALLOWED_NETWORKS="127.0.0.0/8,::1/128"
        )
        worker = Child("worker", [sys.executable, "-c", _RUN, *celery[3:]], environment=variables)
        worker.start()
        try:
            wakes.publish(wakes.Wake(outbox.DELIVER, delivery.id) for delivery in many)
            until(lambda: len(silent.requests) > 0)
            wakes.publish(wakes.Wake(outbox.DELIVER, delivery.id) for delivery in few)
            until(lambda: not Delivery.objects.filter(channel=works).exclude(state="delivered").exists())
            rests = Delivery.objects.filter(reason_code="host-rests")
            until(lambda: len(silent.requests) > most or rests.exists())
        finally:
            worker.stop(10.0)
    # They arrived before the first send to the other receiver had ended, so none of its threads was needed.
    tries = Attempt.objects.exclude(outcome="released")
    first = tries.filter(delivery__channel=stuck).order_by("finished_at")[0].finished_at
    assert first is not None
    assert not tries.filter(delivery__channel=works, finished_at__gt=first).exists()
    # Each holds its thread for six seconds.
    arrived = sorted(request.at for request in silent.requests)
    assert all(later - at > timedelta(seconds=5) for at, later in zip(arrived, arrived[most:], strict=False))
    assert max(Delivery.objects.filter(channel=stuck).values_list("tries", flat=True)) == 1


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, list(Delivery.objects.values_list("state", "reason_code"))
        time.sleep(0.05)


@pytest.mark.parametrize(
    "command",
    [manage_command("check"), [sys.executable, "-m", "celery", "-A", "config", "worker"]],
    ids=["manage", "worker"],
)
def test_waits_for_a_provider_that_does_not_exist_end_the_program_at_its_start(command: list[str]) -> None:
    ended = run(command, RETRY_WAITS_PIGEON="60", CELERY_SKIP_CHECKS="")  # the check is what ends it
    assert ended.returncode == 1
    lines = ended.stdout.splitlines()
    assert "RETRY_WAITS_PIGEON" in lines[-1] + lines[0]
    assert "for example RETRY_WAITS_WEBHOOK=" in ended.stdout
