"""Admin of notifications, deliveries, dead letters and channels."""

from notifications.admin import channel, dead_letter, delivery, notification
