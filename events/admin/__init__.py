"""Admin pages of events."""

from events.admin import digest, event, inbound, rule, topic

__all__ = ["digest", "event", "inbound", "rule", "topic"]
