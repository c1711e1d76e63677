"""Admin pages of events."""

from events.admin import event, inbound, rule, topic
