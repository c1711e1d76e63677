"""The peer of `script/bench live`: a bare consumer of Django Channels, and who tells it. Runs with the peers' packages.

Each socket joins the group that its address names; nothing is checked and no table is read. As a program it reads lines
"group text" and sends each text to its group.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import django
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from django.conf import settings

settings.configure(
    SECRET_KEY="bench",  # noqa: S106 - nothing is signed
    CHANNEL_LAYERS={
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [os.environ["REDIS_URL"]], "prefix": "bench-live"},
        }
    },
)
django.setup()


class Inbox(AsyncWebsocketConsumer):  # type: ignore[misc]
    async def connect(self) -> None:
        await self.channel_layer.group_add(self.scope["query_string"].decode(), self.channel_name)
        await self.accept()

    async def tell(self, event: dict[str, Any]) -> None:
        await self.send(text_data=event["text"])


application = Inbox.as_asgi()


async def main() -> None:
    layer = get_channel_layer()
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        group, _, text = line.decode().partition(" ")
        await layer.group_send(group, {"type": "tell", "text": text.strip()})


if __name__ == "__main__":
    asyncio.run(main())
