"""The rows of a reminder: its slot, and each delivery with its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from demo.installation import Installation

_OPEN = ("pending", "sending")


@dataclass(frozen=True)
class Sent:
    """A delivery. `attempts` are outcome and reason code of each, oldest first."""

    key: UUID
    channel: str
    state: str
    attempts: Sequence[tuple[str, str]]

    @property
    def settled(self) -> bool:
        return self.state not in _OPEN


@dataclass(frozen=True)
class Outcome:
    """`slot` and `fired_at` are aware; `sent` in the order in which the channels were added."""

    slot: datetime
    fired_at: datetime
    sent: Sequence[Sent]

    @property
    def lateness(self) -> timedelta:
        return self.fired_at - self.slot

    @property
    def settled(self) -> bool:
        return bool(self.sent) and all(delivery.settled for delivery in self.sent)

    def of(self, channel: str) -> Sent:
        return next(delivery for delivery in self.sent if delivery.channel == channel)


def outcome(site: Installation, title: str) -> Outcome | None:
    """The newest occurrence of the reminder with this title, None before it has fired."""
    fired = site.rows(
        """
        SELECT o.id, o.scheduled_for, o.fired_at FROM schedules_occurrence o
          JOIN schedules_schedule s ON s.id = o.schedule_id
         WHERE s.title = %s AND o.outcome = 'fired' ORDER BY o.scheduled_for DESC LIMIT 1
        """,
        title,
    )
    if not fired:
        return None
    rows = site.rows(
        """
        SELECT d.id, c.label, d.state, array_agg(a.outcome ORDER BY a.id) AS outcomes,
               array_agg(a.reason_code ORDER BY a.id) AS reasons
          FROM notifications_delivery d
          JOIN notifications_notification n ON n.id = d.notification_id
          JOIN notifications_channel c ON c.id = d.channel_id
          LEFT JOIN notifications_attempt a ON a.delivery_id = d.id
         WHERE n.batch_id = %s GROUP BY d.id, c.id ORDER BY c.id
        """,
        fired[0]["id"],
    )
    return Outcome(
        slot=fired[0]["scheduled_for"],
        fired_at=fired[0]["fired_at"],
        sent=[
            Sent(
                key=row["id"],
                channel=row["label"],
                state=row["state"],
                attempts=[pair for pair in zip(row["outcomes"], row["reasons"], strict=True) if pair[0] is not None],
            )
            for row in rows
        ],
    )
