"""Connections: accounts and addresses that jobs read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from carillon_client.connection import Resource
from carillon_client.documents import ConnectionKind, SourceConnection


class Connections(Resource):
    """`version` of a change is the `ETag` that you have read; a newer one is refused with a 412 problem."""

    def list(self, kind: str | None = None) -> Iterator[SourceConnection]:
        """Newest first, without their secrets."""
        return self._connection.pages("/connections", kind=kind)

    def kinds(self) -> Sequence[ConnectionKind]:
        """The kinds that there are, each with its fields."""
        return cast("Sequence[ConnectionKind]", self._connection.get("/connections/kinds")["items"])

    def add(self, kind: str, fields: Mapping[str, str], label: str = "", *, key: str | None = None) -> SourceConnection:
        """It is `unchecked` until `check`, or until a reminder uses it."""
        body = {"kind": kind, "label": label, "fields": dict(fields)}
        return cast(SourceConnection, self._connection.post("/connections", body, key=key))

    def read(self, connection_id: str) -> SourceConnection:
        return cast(SourceConnection, self._connection.get(f"/connections/{connection_id}"))

    def change(self, connection_id: str, version: str | None = None, **changes: Any) -> SourceConnection:
        """`label` or `fields`. What is not given stays as it is."""
        return cast(
            SourceConnection, self._connection.change("PATCH", f"/connections/{connection_id}", changes, version)
        )

    def check(self, connection_id: str) -> SourceConnection:
        """Ask its source now; `state` and `failing_reason` say what came of it."""
        return cast(SourceConnection, self._connection.post(f"/connections/{connection_id}/check"))

    def remove(self, connection_id: str, version: str | None = None) -> None:
        self._connection.change("DELETE", f"/connections/{connection_id}", version=version)
