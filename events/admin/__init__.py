"""Admin pages of events."""

from events.admin import rule

__all__ = ["rule"]
