"""Channels: where messages go."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from carillon_client.connection import Resource
from carillon_client.documents import Channel, NewChannel, NewSecret, TestSent


class Channels(Resource):
    def list(self, kind: str | None = None) -> Iterator[Channel]:
        """Newest first, without their secrets."""
        return self._connection.pages("/channels", kind=kind)

    def kinds(self) -> Any:
        """The kinds that there are, each with its fields."""
        return self._connection.get("/channels/kinds")["items"]

    def add(self, kind: str, fields: Mapping[str, str | int], label: str = "", *, key: str | None = None) -> NewChannel:
        """Unless it is yours already, a code is sent to it: see `verify`."""
        body = {"kind": kind, "label": label, "fields": dict(fields)}
        return cast(NewChannel, self._connection.post("/channels", body, key=key))

    def read(self, channel_id: str) -> Channel:
        return cast(Channel, self._connection.get(f"/channels/{channel_id}"))

    def verify(self, channel_id: str, code: str) -> Channel:
        return cast(Channel, self._connection.post(f"/channels/{channel_id}/verify", {"code": code}))

    def send_code(self, channel_id: str) -> None:
        """Again; the code before it is not valid any more."""
        self._connection.post(f"/channels/{channel_id}/code")

    def change(self, channel_id: str, **changes: Any) -> NewChannel:
        """`label`, `on_unknown`, `give_up_after` or `fields`. What is not given stays as it is."""
        return cast(NewChannel, self._connection.change("PATCH", f"/channels/{channel_id}", changes))

    def enable(self, channel_id: str) -> Channel:
        return cast(Channel, self._connection.post(f"/channels/{channel_id}/enable"))

    def replace_secret(self, channel_id: str, *, key: str | None = None) -> NewSecret:
        """Make a new signing secret for a webhook. The one before signs too for a day."""
        return cast(NewSecret, self._connection.post(f"/channels/{channel_id}/secret", key=key))

    def test(self, channel_id: str) -> TestSent:
        """Send a message to it now."""
        return cast(TestSent, self._connection.post(f"/channels/{channel_id}/test"))

    def remove(self, channel_id: str) -> None:
        self._connection.change("DELETE", f"/channels/{channel_id}")
