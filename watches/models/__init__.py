"""Watches, their pings, and what strangers see of them."""

from watches.models.badge import Badge, PingKey
from watches.models.status_page import PublicIncident, StatusPage
from watches.models.subscriber import DeadLetter, StatusMail, StatusMailAttempt, Subscriber
from watches.models.watch import DailyDowntime, Ping, Watch
