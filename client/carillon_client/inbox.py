"""The inbox: messages that you read on your own page."""

from collections.abc import Iterator
from typing import cast

from carillon_client.connection import Resource
from carillon_client.documents import InboxMessage


class Inbox(Resource):
    def list(
        self, *, unread: bool | None = None, archived: bool = False, search: str | None = None
    ) -> Iterator[InboxMessage]:
        """By arrival, newest first; `archived`: those that were taken out of the list."""
        return self._connection.pages("/inbox", unread=unread, archived=archived or None, search=search)

    def read(self, message_id: str) -> InboxMessage:
        """Does not mark it as read."""
        return cast(InboxMessage, self._connection.get(f"/inbox/{message_id}"))

    def mark_read(self, message_id: str) -> InboxMessage:
        return cast(InboxMessage, self._connection.post(f"/inbox/{message_id}/read"))

    def archive(self, message_id: str) -> InboxMessage:
        """Take it out of the list, as read."""
        return cast(InboxMessage, self._connection.post(f"/inbox/{message_id}/archive"))

    def unarchive(self, message_id: str) -> InboxMessage:
        return cast(InboxMessage, self._connection.post(f"/inbox/{message_id}/unarchive"))

    def mark_all_read(self) -> int:
        """Return how many were unread."""
        return cast(int, self._connection.post("/inbox/read")["count"])
