"""Watches, their pings, and what strangers see of them."""

from watches.models.badge import Badge
from watches.models.watch import Ping, Watch
