"""Queues: channels whose messages your program pulls."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from carillon_client.connection import Resource
from carillon_client.documents import QueueMessage, SentMessage, Settled


class Queues(Resource):
    def send(self, channel_id: str, *messages: Mapping[str, Any]) -> Sequence[SentMessage]:
        """Send straight to a queue, up to 100: each with a `type`, and `id`, `data`, `correlation_id` and so on."""
        return cast(
            "Sequence[SentMessage]", self._connection.post(f"/queues/{channel_id}/messages", list(messages))["items"]
        )

    def pull(
        self, channel_id: str, *, batch_size: int = 10, visibility: float = 30.0, wait: float = 0.0
    ) -> Sequence[QueueMessage]:
        """The oldest first; nobody else gets them for `visibility` seconds. Waits up to `wait` seconds for some."""
        body = {
            "batch_size": batch_size,
            "visibility_timeout_ms": round(visibility * 1000),
            "wait_ms": round(wait * 1000),
        }
        return cast("Sequence[QueueMessage]", self._connection.post(f"/queues/{channel_id}/pull", body)["items"])

    def ack(
        self, channel_id: str, lease_ids: Sequence[str], retries: Mapping[str, int] | None = None
    ) -> Sequence[Settled]:
        """Acknowledge the leases; those in `retries` come again after so many seconds."""
        body = {
            "acks": [{"lease_id": one} for one in lease_ids],
            "retries": [{"lease_id": one, "delay_seconds": delay} for one, delay in (retries or {}).items()],
        }
        return cast("Sequence[Settled]", self._connection.post(f"/queues/{channel_id}/ack", body)["items"])
