"""Notifications, the batches they belong to, and dead letters."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from carillon_client.connection import Resource
from carillon_client.documents import (
    Accepted,
    AudienceOption,
    Batch,
    DeadLetterGroup,
    Delivery,
    DeliveryWithAttempts,
    InboxMessage,
    Notification,
    NotificationWithAttempts,
    Replayed,
)
from carillon_client.schedules import instant


class Notifications(Resource):
    def send(
        self,
        title: str,
        channel_ids: Sequence[str],
        *,
        body: str = "",
        send_at: datetime | None = None,
        urgent: bool = False,
        category: str = "",
        data: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> Accepted:
        """`key` is the Idempotency-Key: the same call with the same key sends once."""
        message: dict[str, Any] = {"title": title, "body": body, "channel_ids": list(channel_ids), "urgent": urgent}
        message |= {"category": category, "data": data, "send_at": instant(send_at) if send_at else None}
        return self._connection.post("/notifications", message, key=key)

    def list(
        self,
        *,
        outcome: str | None = None,
        since: datetime | None = None,
        schedule_id: str | None = None,
        origin: str | None = None,
        search: str | None = None,
    ) -> Iterator[Notification]:
        """Newest first. What is sent to status webhooks only with `origin="status"`."""
        requested = {"outcome": outcome, "since": instant(since) if since else None, "schedule_id": schedule_id}
        return self._connection.pages("/notifications", **requested, origin=origin, search=search)

    def read(self, notification_id: str) -> NotificationWithAttempts:
        """With each delivery and each attempt."""
        return self._connection.get(f"/notifications/{notification_id}")

    def cancel(self, notification_id: str) -> Notification:
        """Cancel what has not gone out."""
        return self._connection.post(f"/notifications/{notification_id}/cancel")

    def acknowledge(self, notification_id: str) -> NotificationWithAttempts:
        """No other channel is tried. Of a reminder or a rule."""
        return self._connection.post(f"/notifications/{notification_id}/acknowledge")

    def snooze(self, notification_id: str, ends_at: datetime) -> NotificationWithAttempts:
        """As `acknowledge`, and the same is sent again at that time."""
        return self._connection.post(f"/notifications/{notification_id}/snooze", {"snooze_ends_at": instant(ends_at)})

    def stop_announcements(self, notification_id: str) -> None:
        """Of which this is one."""
        self._connection.post(f"/notifications/{notification_id}/stop-announcements")

    def resume_announcements(self, notification_id: str) -> None:
        """From the next one on."""
        self._connection.post(f"/notifications/{notification_id}/resume-announcements")


class Batches(Resource):
    """All that one cause sent: to you, or by you to an audience."""

    def read(self, batch_id: str) -> Batch:
        return self._connection.get(f"/batches/{batch_id}")

    def list(self, *, origin_id: str | None = None) -> Iterator[Batch]:
        """Those for audiences that you have caused, newest first; with `origin_id`, of this schedule or topic."""
        return self._connection.pages("/batches", origin_id=origin_id)

    def audiences(self) -> Iterator[AudienceOption]:
        """List the audiences that you may notify. For staff."""
        return self._connection.pages("/audiences")

    def replay(self, batch_id: str) -> int:
        """Replay what failed of a batch for an audience, oldest first. Returns how many."""
        return self._connection.post(f"/batches/{batch_id}/replay")["replayed"]

    def cancel(self, batch_id: str) -> Batch:
        return self._connection.post(f"/batches/{batch_id}/cancel")


class DeadLetters(Resource):
    """Deliveries that failed for good, or whose outcome is unknown."""

    def list(self, *, cause: str | None = None, channel_id: str | None = None) -> Iterator[Delivery]:
        """Newest first."""
        return self._connection.pages("/dead-letters", cause=cause, channel_id=channel_id)

    def read(self, delivery_id: str) -> DeliveryWithAttempts:
        """Also when it is not a dead letter any more."""
        return self._connection.get(f"/dead-letters/{delivery_id}")

    def causes(self) -> Sequence[DeadLetterGroup]:
        """The number of dead letters of each cause on each channel."""
        return self._connection.get("/dead-letters/causes")["items"]

    def replay_all(
        self, *, cause: str | None = None, channel_id: str | None = None, per_minute: int = 60, key: str | None = None
    ) -> Replayed:
        """All of a cause, of a channel, or both: oldest first, so many a minute."""
        body = {"cause": cause, "channel_id": channel_id, "per_minute": per_minute}
        return self._connection.post("/dead-letters/replay", body, key=key)

    def replay(self, delivery_id: str) -> Delivery:
        """Now, under the same idempotency key. One that is `unknown` may arrive twice."""
        return self._connection.post(f"/dead-letters/{delivery_id}/replay")

    def send_as_new(self, delivery_id: str) -> Delivery:
        """Under a new idempotency key, for a receiver that ignores the old one."""
        return self._connection.post(f"/dead-letters/{delivery_id}/replay-as-new")

    def discard(self, delivery_id: str, reason: str) -> Delivery:
        return self._connection.post(f"/dead-letters/{delivery_id}/discard", {"reason": reason})

    def mark_fixed(self, delivery_id: str, note: str) -> Delivery:
        """It was dealt with otherwise."""
        return self._connection.post(f"/dead-letters/{delivery_id}/fixed", {"note": note})


class Inbox(Resource):
    def list(
        self, *, unread: bool | None = None, archived: bool = False, search: str | None = None
    ) -> Iterator[InboxMessage]:
        """By arrival, newest first; `archived`: those that were taken out of the list."""
        return self._connection.pages("/inbox", unread=unread, archived=archived or None, search=search)

    def read(self, message_id: str) -> InboxMessage:
        """Does not mark it as read."""
        return self._connection.get(f"/inbox/{message_id}")

    def mark_read(self, message_id: str) -> InboxMessage:
        return self._connection.post(f"/inbox/{message_id}/read")

    def archive(self, message_id: str) -> InboxMessage:
        """Take it out of the list, as read."""
        return self._connection.post(f"/inbox/{message_id}/archive")

    def unarchive(self, message_id: str) -> InboxMessage:
        return self._connection.post(f"/inbox/{message_id}/unarchive")

    def mark_all_read(self) -> int:
        """Return how many were unread."""
        return self._connection.post("/inbox/read")["count"]
