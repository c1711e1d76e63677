"""Admin pages of events."""

from events.admin import event, owned
