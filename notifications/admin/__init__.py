"""What went out, to whom, and what did not arrive: the operator's view."""

from notifications.admin import channel, deadletter, delivery, intervention, notification

__all__ = ["channel", "deadletter", "delivery", "intervention", "notification"]
