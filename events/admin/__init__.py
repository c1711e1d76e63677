"""Admin pages of events."""

from events.admin import event, flow, owned, rule
