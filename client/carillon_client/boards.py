"""Boards: pages on which people and programs write."""

from collections.abc import Iterator
from typing import cast

from carillon_client.connection import Resource
from carillon_client.documents import BoardMessage


class Boards(Resource):
    def messages(self, board_id: str, *, after: int = 0) -> Iterator[BoardMessage]:
        """Return the newest, the oldest first; only those with an id greater than `after`."""
        return self._connection.pages(f"/boards/{board_id}/messages", after=after)

    def write(self, board_id: str, text: str, *, key: str | None = None) -> BoardMessage:
        """Write, once for each `key`: give your own, if your program may repeat the call after a crash."""
        return cast(BoardMessage, self._connection.post(f"/boards/{board_id}/messages", {"text": text}, key=key))
