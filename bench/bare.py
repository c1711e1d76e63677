"""The peer of `bench.deliver`: a Celery task that makes the same POST over the same connections, without records."""

from __future__ import annotations

import os
from uuid import UUID

from celery import shared_task

from notifications.message import Delivered, Destination, Message
from notifications.providers.webhook import Webhook
from work import load

SECRET = "whsec_" + "c2VjcmV0" * 4  # signs for a receiver that checks nothing
NAME = "bench.bare"
_webhook = Webhook()


@shared_task(name=NAME, ignore_result=True)
def post(key: str) -> None:
    message = Message(UUID(key), "Water the plants", "All of them.", "Ada")
    urls = os.environ["BENCH_SINKS"].split(",")
    destination = Destination({"url": urls[message.key.int % len(urls)]}, {"secret": SECRET})
    with load.calling():
        answer = _webhook.send(message, destination)
    if not isinstance(answer, Delivered):
        raise RuntimeError(str(answer))
