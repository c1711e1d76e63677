"""Inbound addresses: webhooks of other services become events."""

from collections.abc import Iterator, Sequence
from typing import Unpack, cast

from carillon_client.connection import Resource
from carillon_client.documents import InboundAddress, InboundFields, InboundRequest, NewInboundAddress


class Inbound(Resource):
    def list(self) -> Iterator[InboundAddress]:
        """Newest first, without their secrets."""
        return self._connection.pages("/inbound")

    def create(self, *, key: str | None = None, **fields: Unpack[InboundFields]) -> NewInboundAddress:
        """Its `url` is secret, and in this answer only."""
        return cast(NewInboundAddress, self._connection.post("/inbound", fields, key=key))

    def read(self, address_id: str) -> InboundAddress:
        return cast(InboundAddress, self._connection.get(f"/inbound/{address_id}"))

    def replace(self, address_id: str, **fields: Unpack[InboundFields]) -> InboundAddress:
        """Fields that are not given get their defaults; its `url` stays, and its secret where none is given."""
        return cast(InboundAddress, self._connection.change("PUT", f"/inbound/{address_id}", fields))

    def remove(self, address_id: str) -> None:
        """Its events stay."""
        self._connection.change("DELETE", f"/inbound/{address_id}")

    def replace_url(self, address_id: str, *, key: str | None = None) -> NewInboundAddress:
        """Give it a new secret `url`. The old one takes nothing any more."""
        return cast(NewInboundAddress, self._connection.post(f"/inbound/{address_id}/url", key=key))

    def requests(self, address_id: str) -> Iterator[InboundRequest]:
        """The last ones, newest first, refused ones too."""
        return self._connection.pages(f"/inbound/{address_id}/requests")

    def replay(self, request_id: str, *, key: str | None = None) -> Sequence[str]:
        """Make new events of a request. Returns their ids."""
        return cast("Sequence[str]", self._connection.post(f"/inbound/requests/{request_id}/replay", key=key)["ids"])
