"""The inbox: messages that you read on your own page."""

from collections.abc import Iterator
from typing import cast

from carillon_client.connection import Resource
from carillon_client.documents import InboxMessage


class Inbox(Resource):
    def list(self, *, unread: bool | None = None, search: str | None = None) -> Iterator[InboxMessage]:
        """By arrival, newest first."""
        return self._connection.pages("/inbox", unread=unread, search=search)

    def read(self, message_id: str) -> InboxMessage:
        """Does not mark it as read."""
        return cast(InboxMessage, self._connection.get(f"/inbox/{message_id}"))

    def mark_read(self, message_id: str) -> InboxMessage:
        return cast(InboxMessage, self._connection.post(f"/inbox/{message_id}/read"))

    def mark_all_read(self) -> int:
        """Return how many were unread."""
        return cast(int, self._connection.post("/inbox/read")["count"])
