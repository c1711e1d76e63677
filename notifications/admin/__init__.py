"""Admin of notifications, deliveries, dead letters and channels."""

from notifications.admin import channel, delivery, notification
