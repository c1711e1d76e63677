"""Connections: accounts and addresses that jobs read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

from carillon_client.connection import Resource
from carillon_client.documents import (
    ConnectionKind,
    InboundAddress,
    InboundFields,
    InboundRequest,
    NewInboundAddress,
    SourceConnection,
)


class Connections(Resource):
    """`version` of a change is the `ETag` that you have read; a newer one is refused with a 412 problem."""

    def list(self, kind: str | None = None) -> Iterator[SourceConnection]:
        """Newest first, without their secrets."""
        return self._connection.pages("/connections", kind=kind)

    def kinds(self) -> Sequence[ConnectionKind]:
        """The kinds that there are, each with its fields."""
        return self._connection.get("/connections/kinds")["items"]

    def add(self, kind: str, fields: Mapping[str, str], label: str = "", *, key: str | None = None) -> SourceConnection:
        """It is `unchecked` until `check`, or until a reminder uses it."""
        return self._connection.post("/connections", {"kind": kind, "label": label, "fields": dict(fields)}, key=key)

    def read(self, connection_id: str) -> SourceConnection:
        return self._connection.get(f"/connections/{connection_id}")

    def change(self, connection_id: str, version: str | None = None, **changes: Any) -> SourceConnection:
        """`label` or `fields`. Others stay as they are."""
        return self._connection.change("PATCH", f"/connections/{connection_id}", changes, version)

    def check(self, connection_id: str) -> SourceConnection:
        """Ask its source now; `state` and `failing_reason` say what came of it."""
        return self._connection.post(f"/connections/{connection_id}/check")

    def remove(self, connection_id: str, version: str | None = None) -> None:
        self._connection.change("DELETE", f"/connections/{connection_id}", version=version)


class Inbound(Resource):
    def list(self) -> Iterator[InboundAddress]:
        """Newest first, without their secrets."""
        return self._connection.pages("/inbound")

    def create(self, *, key: str | None = None, **fields: Unpack[InboundFields]) -> NewInboundAddress:
        """Its `url` is secret, and in this answer only."""
        return self._connection.post("/inbound", fields, key=key)

    def read(self, address_id: str) -> InboundAddress:
        return self._connection.get(f"/inbound/{address_id}")

    def replace(self, address_id: str, **fields: Unpack[InboundFields]) -> InboundAddress:
        """Fields that are not given get their defaults; its `url` stays, and its secret where none is given."""
        return self._connection.change("PUT", f"/inbound/{address_id}", fields)

    def remove(self, address_id: str) -> None:
        """Its events stay."""
        self._connection.change("DELETE", f"/inbound/{address_id}")

    def replace_url(self, address_id: str, *, key: str | None = None) -> NewInboundAddress:
        """Give it a new secret `url`. The old one takes nothing any more."""
        return self._connection.post(f"/inbound/{address_id}/url", key=key)

    def requests(self, address_id: str) -> Iterator[InboundRequest]:
        """The last ones, newest first, refused ones too."""
        return self._connection.pages(f"/inbound/{address_id}/requests")

    def replay(self, request_id: str, *, key: str | None = None) -> Sequence[str]:
        """Make new events of a request. Returns their ids."""
        return self._connection.post(f"/inbound/requests/{request_id}/replay", key=key)["ids"]
