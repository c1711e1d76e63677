"""A program that publishes the events of a cell over HTTP, each again after its answer was cut."""

from __future__ import annotations

import json
import operator
import random
import socket
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse

from events.pure.envelope import Envelope
from people import tokens
from people.models import User

TOPIC = "faults"  # the slug of a topic that an event names
_PATIENCE = 60.0  # seconds


class Publisher:
    """Publishes each event when it happens, from `start` on."""

    def __init__(self, person: User, events: Iterable[Envelope], port: int) -> None:
        self.token, self.port = tokens.create(person, "Faults", ["events", "queues"], None)[1], port
        self._events = [(event.occurred_at, event) for event in events if event.occurred_at]
        self._rng = random.Random(len(self._events))
        self._pool = ThreadPoolExecutor(8)
        self._published: list[Future[None]] = []

    def start(self) -> None:
        self._published = [
            self._pool.submit(self._publish, *one) for one in sorted(self._events, key=operator.itemgetter(0))
        ]

    def finish(self) -> None:
        """Wait until every event was taken. Raises what a thread has raised."""
        for one in self._published:
            one.result()
        self._pool.shutdown()

    def _publish(self, instant: datetime, event: Envelope) -> None:
        time.sleep(max(0.0, (instant - datetime.now(UTC)).total_seconds()))
        request = self._request(instant, event)
        self._lose_answer(request)
        deadline = time.monotonic() + _PATIENCE
        while not self._is_taken(request, str(event.key)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Event {event.key} was not taken.")
            time.sleep(0.1)

    def _request(self, instant: datetime, event: Envelope) -> bytes:
        body = {
            "id": str(event.key),
            "type": event.type,
            "source": event.source,
            "occurred_at": instant.isoformat(),
            "data": event.data,
        }
        if event.topic_id:
            body["topic"] = TOPIC
        text = json.dumps(body).encode()
        head = (
            "POST /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n"
        )
        return head.encode() + text

    def _lose_answer(self, request: bytes) -> None:
        """Hang up at the first byte of the answer, or before it."""
        try:
            with self._connect() as line:
                line.sendall(request)
                if self._rng.random() < 0.7:
                    line.recv(1)
        except OSError:
            return

    def _is_taken(self, request: bytes, key: str) -> bool:
        """Publish, and read the answer; False where there is none."""
        try:
            with self._connect() as line:
                line.sendall(request)
                answer = HTTPResponse(line)
                answer.begin()
                text = answer.read()
        except (OSError, HTTPException):
            return False
        if answer.status in {409, 503}:  # its turn, or the database, did not come in time
            return False
        if answer.status != 202 or [one["id"] for one in json.loads(text)["items"]] != [key]:
            raise RuntimeError(f"Publishing {key} was answered with {answer.status}: {text!r}")
        return True

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)
