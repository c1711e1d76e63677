"""Named counters: added to, read and deleted."""

from collections.abc import Iterator
from typing import cast

from carillon_client.connection import Resource
from carillon_client.documents import Counter


class Counters(Resource):
    def list(self) -> Iterator[Counter]:
        """Return all, in the order of their names."""
        return self._connection.pages("/counters")

    def add(self, name: str, by: int = 1, *, key: str | None = None) -> Counter:
        """Add `by`, once for each `key`: give your own, if your program may repeat the call after a crash."""
        return cast(Counter, self._connection.post("/counters", {"name": name, "by": by}, key=key))

    def read(self, name: str) -> Counter:
        return cast(Counter, self._connection.get(f"/counters/{name}"))

    def delete(self, name: str) -> None:
        """It begins at 0 again when something is added."""
        self._connection.change("DELETE", f"/counters/{name}")
