"""Watches, which tell you when a ping does not come."""

from collections.abc import Iterator
from typing import Unpack

from carillon_client.connection import Resource
from carillon_client.documents import Ping, Watch, WatchFields


class Watches(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(self, *, state: str | None = None, tag: str | None = None) -> Iterator[Watch]:
        """Newest first."""
        return self._connection.pages("/watches", state=state, tag=tag)

    def create(self, *, key: str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """`key` is the Idempotency-Key: the same call with the same key makes one watch."""
        return self._connection.post("/watches", fields, key=key)

    def read(self, watch_id: str) -> Watch:
        return self._connection.get(f"/watches/{watch_id}")

    def pings(self, watch_id: str) -> Iterator[Ping]:
        """The last 100, newest first, with their output."""
        return self._connection.pages(f"/watches/{watch_id}/pings")

    def replace(self, watch_id: str, version: int | str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """Fields that are not given get their defaults."""
        return self._connection.change("PUT", f"/watches/{watch_id}", fields, version)

    def change(self, watch_id: str, version: int | str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """Fields that are not given stay as they are."""
        return self._connection.change("PATCH", f"/watches/{watch_id}", fields, version)

    def delete(self, watch_id: str, version: int | str | None = None) -> None:
        self._connection.change("DELETE", f"/watches/{watch_id}", version=version)

    def restore(self, watch_id: str) -> Watch:
        return self._connection.post(f"/watches/{watch_id}/restore")

    def pause(self, watch_id: str, *, until_ping: bool = False) -> Watch:
        """Until `resume`, or until its next ping."""
        return self._connection.post(f"/watches/{watch_id}/pause", {"until_ping": until_ping})

    def resume(self, watch_id: str) -> Watch:
        return self._connection.post(f"/watches/{watch_id}/resume")
