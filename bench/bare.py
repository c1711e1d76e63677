"""The peers of `bench.deliver` and `bench.check`: Celery tasks that make the same request, without records."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from celery import shared_task

from bench.receiver import ACCOUNTS
from demo.receivers import github
from jobs.kinds.base import Ask, Found, Source
from jobs.kinds.github_streak import GitHubStreak
from jobs.reading.fetch import Fetch
from notifications.messages.message import Delivered, Destination, Message
from notifications.providers.webhook import Webhook
from work.broker import load

SECRET = "whsec_" + "c2VjcmV0" * 4  # signs for a receiver that checks nothing
NAME, CHECK = "bench.bare", "bench.check"
_webhook, _streak = Webhook(), GitHubStreak()


@shared_task(name=NAME, ignore_result=True)
def post(key: str) -> None:
    message = Message(UUID(key), "Water the plants", "All of them.", "Ada")
    urls = os.environ["BENCH_SINKS"].split(",")
    destination = Destination({"url": urls[message.key.int % len(urls)]}, {"secret": SECRET})
    with load.calling():
        answer = _webhook.send(message, destination)
    if not isinstance(answer, Delivered):
        raise RuntimeError(str(answer))


@shared_task(name=CHECK, ignore_result=True)
def check(key: str) -> None:
    login, now = ACCOUNTS[UUID(key).int % 2], datetime.now(UTC)
    source = Source(id=UUID(key), label="", address={"login": login}, secrets={"token": github.token(login)})
    ask = Ask(user_id=0, origin_id=None, zone=ZoneInfo("UTC"), slot=now, now=now, payload={}, source=source)
    with load.calling():
        found = _streak.check(ask, Fetch(_streak.deadline))
    if not isinstance(found, Found):
        raise RuntimeError(str(found))
    _streak.decide(ask, found.value)
