"""Admin pages of events."""

from events.admin import event, rule

__all__ = ["event", "rule"]
