"""Status webhooks: each change is posted to them."""

from collections.abc import Iterator
from typing import Any, Unpack, cast

from carillon_client.connection import Resource
from carillon_client.documents import NewStatusWebhook, StatusWebhook, StatusWebhookFields


class StatusWebhooks(Resource):
    def list(self) -> Iterator[StatusWebhook]:
        """Newest first, without their secrets."""
        return self._connection.pages("/status-webhooks")

    def add(self, *, key: str | None = None, **fields: Unpack[StatusWebhookFields]) -> NewStatusWebhook:
        """A code is posted to it: see `verify`. `secret` is in this answer only."""
        return cast(NewStatusWebhook, self._connection.post("/status-webhooks", fields, key=key))

    def read(self, webhook_id: str) -> StatusWebhook:
        return cast(StatusWebhook, self._connection.get(f"/status-webhooks/{webhook_id}"))

    def change(self, webhook_id: str, **changes: Any) -> StatusWebhook:
        """`types`, `label`, `url` or `everybody`. A new `url` is verified again."""
        return cast(StatusWebhook, self._connection.change("PATCH", f"/status-webhooks/{webhook_id}", changes))

    def verify(self, webhook_id: str, code: str) -> StatusWebhook:
        return self._act(webhook_id, "verify", {"code": code})

    def send_code(self, webhook_id: str) -> StatusWebhook:
        """Again; the code before it is not valid any more."""
        return self._act(webhook_id, "code")

    def enable(self, webhook_id: str) -> StatusWebhook:
        return self._act(webhook_id, "enable")

    def test(self, webhook_id: str) -> str:
        """Post a test to it now. Returns the id of the delivery."""
        return cast(str, self._connection.post(f"/status-webhooks/{webhook_id}/test")["delivery_id"])

    def remove(self, webhook_id: str) -> None:
        self._connection.change("DELETE", f"/status-webhooks/{webhook_id}")

    def _act(self, webhook_id: str, verb: str, body: dict[str, str] | None = None) -> StatusWebhook:
        return cast(StatusWebhook, self._connection.post(f"/status-webhooks/{webhook_id}/{verb}", body))
