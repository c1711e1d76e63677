"""Topics that you publish to, and those that you are subscribed to."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from carillon_client.connection import Resource
from carillon_client.documents import AddedAddress, OpenTopic, Subscription, Topic, TopicEvent, TopicFields


class Topics(Resource):
    """An event that names a topic's `slug` as its `topic` goes to everybody who is subscribed."""

    def list(self) -> Iterator[Topic]:
        """Yours, newest first."""
        return self._connection.pages("/topics")

    def create(self, slug: str, *, key: str | None = None, **fields: Unpack[TopicFields]) -> Topic:
        return self._connection.post("/topics", {"slug": slug, **fields}, key=key)

    def read(self, slug: str) -> Topic:
        return self._connection.get(f"/topics/{slug}")

    def change(self, slug: str, version: int | None = None, **fields: Unpack[TopicFields]) -> Topic:
        """Fields that are not given stay as they are."""
        return self._connection.change("PATCH", f"/topics/{slug}", fields, version)

    def delete(self, slug: str, version: int | None = None) -> None:
        """With its subscriptions."""
        self._connection.change("DELETE", f"/topics/{slug}", version=version)

    def events(self, slug: str) -> Iterator[TopicEvent]:
        """Newest first, with how far each has come."""
        return self._connection.pages(f"/topics/{slug}/events")

    def added(self, slug: str) -> Iterator[AddedAddress]:
        """Return the people that you have added."""
        return self._connection.pages(f"/topics/{slug}/subscriptions")

    def add(self, slug: str, address: str, *, key: str | None = None) -> AddedAddress:
        """Subscribe the account with this email address, if there is one."""
        return self._connection.post(f"/topics/{slug}/subscriptions", {"address": address}, key=key)

    def remove(self, slug: str, subscription_id: str) -> None:
        self._connection.change("DELETE", f"/topics/{slug}/subscriptions/{subscription_id}")


class Subscriptions(Resource):
    def list(self) -> Iterator[Subscription]:
        """Newest first."""
        return self._connection.pages("/subscriptions")

    def topics(self) -> Iterator[OpenTopic]:
        """Return the topics that you can subscribe to."""
        return self._connection.pages("/subscriptions/topics")

    def subscribe(self, topic_id: str, channel_ids: Sequence[str] = ()) -> Subscription:
        """Or choose other channels; none means all that work."""
        return self._connection.change("PUT", f"/subscriptions/{topic_id}", {"channel_ids": [*channel_ids]})

    def leave(self, topic_id: str) -> None:
        self._connection.change("DELETE", f"/subscriptions/{topic_id}")
