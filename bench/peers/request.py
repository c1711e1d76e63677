"""The job of every peer: the POST that a webhook channel makes, signed, to the same receiver."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from uuid import uuid4

import aiohttp
from standardwebhooks import Webhook

from bench import bare


def post() -> None:
    bare.post(str(uuid4()))


async def post_async(session: aiohttp.ClientSession) -> None:
    """The same with an asynchronous client, which the product's synchronous one cannot be."""
    key, now = str(uuid4()), datetime.now(UTC)
    body = json.dumps({"id": key, "subject": "Water the plants", "body": "All of them.", "recipient": "Ada"})
    headers = {
        "Content-Type": "application/json",
        "webhook-id": key,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(bare.SECRET).sign(key, now, body),
    }
    async with session.post(os.environ["BENCH_SINKS"], data=body, headers=headers) as answer:
        await answer.read()
        answer.raise_for_status()
