"""Admin pages of events."""

from events.admin import event, topic

__all__ = ["event", "topic"]
