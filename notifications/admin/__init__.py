"""What went out, to whom, and what did not arrive: the operator's view."""

from notifications.admin import channel, dead_letter, delivery, intervention, notification

__all__ = ["channel", "dead_letter", "delivery", "intervention", "notification"]
