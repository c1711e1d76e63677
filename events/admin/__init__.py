"""Admin pages of events."""

from events.admin import event, flow, inbound, registered_type, rule, topic
