"""Rows: channels, notifications, deliveries, attempts and interventions, with the constraints that hold them.

Every change of a delivery's state is a verb in `deliveries/`; nothing else writes `state`.
"""

from notifications.models.attempt import Attempt
from notifications.models.channel import Channel
from notifications.models.delivery import Delivery
from notifications.models.intervention import Intervention
from notifications.models.notification import Notification

__all__ = ["Attempt", "Channel", "Delivery", "Intervention", "Notification"]
