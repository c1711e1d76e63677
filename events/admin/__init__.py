"""Admin pages of events."""

from events.admin import digest, event, inbound

__all__ = ["digest", "event", "inbound"]
