"""The feed of changes: what happened to deliveries, notifications, schedules and channels."""

import time
from collections.abc import Iterator, Sequence
from typing import cast

from carillon_client.connection import Resource
from carillon_client.documents import ChangePage


class Changes(Resource):
    """Store `next` of a page with what you have done about it: then you see every change once.

    `occurred_at` may go back from one change to the next, because the feed has the order of commits.
    """

    def read(self, cursor: str | None = None, *, types: Sequence[str] = (), limit: int = 100) -> ChangePage:
        """The changes behind `cursor`, the oldest first; a problem 410 if it is older than a week."""
        return cast(
            ChangePage, self._connection.get("/changes", cursor=cursor, types=",".join(types) or None, limit=limit)
        )

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
