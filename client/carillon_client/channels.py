"""Channels: where messages go, the queues and the boards among them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carillon_client.connection import Resource
from carillon_client.documents import (
    BoardMessage,
    Channel,
    NewChannel,
    NewSecret,
    QueueMessage,
    SentMessage,
    Settled,
    TestSent,
)


class Channels(Resource):
    def list(self, kind: str | None = None) -> Iterator[Channel]:
        """Newest first, without their secrets."""
        return self._connection.pages("/channels", kind=kind)

    def kinds(self) -> Any:
        """The kinds that there are, each with its fields."""
        return self._connection.get("/channels/kinds")["items"]

    def add(self, kind: str, fields: Mapping[str, str | int], label: str = "", *, key: str | None = None) -> NewChannel:
        """Unless it is yours already, a code is sent to it: see `verify`."""
        return self._connection.post("/channels", {"kind": kind, "label": label, "fields": dict(fields)}, key=key)

    def read(self, channel_id: str) -> Channel:
        return self._connection.get(f"/channels/{channel_id}")

    def verify(self, channel_id: str, code: str) -> Channel:
        return self._connection.post(f"/channels/{channel_id}/verify", {"code": code})

    def send_code(self, channel_id: str) -> None:
        """Again; the code before it is not valid any more."""
        self._connection.post(f"/channels/{channel_id}/code")

    def change(self, channel_id: str, **changes: Any) -> NewChannel:
        """`label`, `on_unknown`, `give_up_after` or `fields`. Others stay as they are."""
        return self._connection.change("PATCH", f"/channels/{channel_id}", changes)

    def enable(self, channel_id: str) -> Channel:
        return self._connection.post(f"/channels/{channel_id}/enable")

    def replace_secret(self, channel_id: str, *, key: str | None = None) -> NewSecret:
        """Make a new signing secret for a webhook. The one before signs too for a day."""
        return self._connection.post(f"/channels/{channel_id}/secret", key=key)

    def test(self, channel_id: str) -> TestSent:
        """Send a message to it now."""
        return self._connection.post(f"/channels/{channel_id}/test")

    def remove(self, channel_id: str) -> None:
        self._connection.change("DELETE", f"/channels/{channel_id}")


class Queues(Resource):
    def send(self, channel_id: str, *messages: Mapping[str, Any]) -> Sequence[SentMessage]:
        """Send straight to a queue, up to 100: each with a `type`, and `id`, `data`, `correlation_id` and so on."""
        return self._connection.post(f"/queues/{channel_id}/messages", list(messages))["items"]

    def pull(
        self, channel_id: str, *, batch_size: int = 10, visibility: float = 30.0, wait: float = 0.0
    ) -> Sequence[QueueMessage]:
        """The oldest first; nobody else gets them for `visibility` seconds. Waits up to `wait` seconds for some."""
        body = {
            "batch_size": batch_size,
            "visibility_timeout_ms": round(visibility * 1000),
            "wait_ms": round(wait * 1000),
        }
        return self._connection.post(f"/queues/{channel_id}/pull", body)["items"]

    def ack(
        self, channel_id: str, lease_ids: Sequence[str], retries: Mapping[str, int] | None = None
    ) -> Sequence[Settled]:
        """Acknowledge the leases; those in `retries` come again after so many seconds."""
        body = {
            "acks": [{"lease_id": one} for one in lease_ids],
            "retries": [{"lease_id": one, "delay_seconds": delay} for one, delay in (retries or {}).items()],
        }
        return self._connection.post(f"/queues/{channel_id}/ack", body)["items"]


class Boards(Resource):
    def messages(self, board_id: str, *, after: int = 0) -> Iterator[BoardMessage]:
        """Return the newest, the oldest first; only those with an id greater than `after`."""
        return self._connection.pages(f"/boards/{board_id}/messages", after=after)

    def write(self, board_id: str, text: str, *, key: str | None = None) -> BoardMessage:
        """Write, once for each `key`: give your own, if your program may repeat the call after a crash."""
        return self._connection.post(f"/boards/{board_id}/messages", {"text": text}, key=key)
