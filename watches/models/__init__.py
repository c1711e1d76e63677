"""Watches, their pings, and what strangers see of them."""

from watches.models.badge import Badge, PingKey
from watches.models.status_page import (
    DeadLetter,
    PublicIncident,
    StatusMail,
    StatusMailAttempt,
    StatusPage,
    Subscriber,
)
from watches.models.watch import DailyDowntime, Ping, Watch
