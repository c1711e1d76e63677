"""Admin pages of events."""

from events.admin import topic

__all__ = ["topic"]
