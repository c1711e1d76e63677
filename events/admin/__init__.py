"""Admin pages of events."""

from events.admin import event, inbound

__all__ = ["event", "inbound"]
