"""Admin pages of events."""

from events.admin import event, rule, topic

__all__ = ["event", "rule", "topic"]
