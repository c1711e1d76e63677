"""The feed of changes: what happened to deliveries, notifications, schedules and channels."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

from carillon_client.connection import Resource
from carillon_client.documents import ChangePage, NewStatusWebhook, StatusWebhook, StatusWebhookFields


class Changes(Resource):
    """Store `next` of a page with what you have done about it: then you see every change once.

    `occurred_at` may go back from one change to the next, because the feed has the order of commits.
    """

    def read(self, cursor: str | None = None, *, types: Sequence[str] = (), limit: int = 100) -> ChangePage:
        """The changes behind `cursor`, the oldest first; a problem 410 if it is older than a week."""
        return self._connection.get("/changes", cursor=cursor, types=",".join(types) or None, limit=limit)

    def follow(
        self, cursor: str | None = None, *, types: Sequence[str] = (), pause: float = 5.0
    ) -> Iterator[ChangePage]:
        """Each page that has changes, without an end. Waits `pause` seconds where there is nothing new."""
        while True:
            page = self.read(cursor, types=types)
            cursor = page["next"]
            if page["items"]:
                yield page
            if not page["more"]:
                time.sleep(pause)


class StatusWebhooks(Resource):
    def list(self) -> Iterator[StatusWebhook]:
        """Newest first, without their secrets."""
        return self._connection.pages("/status-webhooks")

    def add(self, *, key: str | None = None, **fields: Unpack[StatusWebhookFields]) -> NewStatusWebhook:
        """A code is posted to it: see `verify`. `secret` is in this answer only."""
        return self._connection.post("/status-webhooks", fields, key=key)

    def read(self, webhook_id: str) -> StatusWebhook:
        return self._connection.get(f"/status-webhooks/{webhook_id}")

    def change(self, webhook_id: str, **changes: Any) -> StatusWebhook:
        """`types`, `label`, `url` or `everybody`. A new `url` is verified again."""
        return self._connection.change("PATCH", f"/status-webhooks/{webhook_id}", changes)

    def verify(self, webhook_id: str, code: str) -> StatusWebhook:
        return self._connection.post(f"/status-webhooks/{webhook_id}/verify", {"code": code})

    def send_code(self, webhook_id: str) -> StatusWebhook:
        """Again; the code before it is not valid any more."""
        return self._connection.post(f"/status-webhooks/{webhook_id}/code")

    def enable(self, webhook_id: str) -> StatusWebhook:
        return self._connection.post(f"/status-webhooks/{webhook_id}/enable")

    def test(self, webhook_id: str) -> str:
        """Post a test to it now. Returns the id of the delivery."""
        return self._connection.post(f"/status-webhooks/{webhook_id}/test")["delivery_id"]

    def remove(self, webhook_id: str) -> None:
        self._connection.change("DELETE", f"/status-webhooks/{webhook_id}")
