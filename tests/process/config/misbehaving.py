"""Loaded by the workers of `test_watchdog`: webhooks whose subject names a fault have it."""

from __future__ import annotations

import ctypes
import os
import time

from notifications.messages.message import Destination, Message
from notifications.providers.webhook import Webhook
from work.answers import Answer

_send, _kept = Webhook.send, list[bytes]()


def send(self: Webhook, message: Message, destination: Destination) -> Answer:
    match message.subject:
        case "hang":
            while True:
                time.sleep(0.1)
        case "hang in C":  # without giving up the interpreter's lock
            ctypes.PyDLL(None).sleep(600)
        case "leak":
            _kept.append(os.urandom(1) * 300_000_000)
        case "exit":
            os._exit(3)
    return _send(self, message, destination)


Webhook.send = send  # type: ignore[method-assign]
