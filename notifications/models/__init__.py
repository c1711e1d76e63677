"""Rows: what is said, where to, what became of it, with the constraints that hold them.

Every change of a delivery's state is a verb in `deliveries/`; nothing else writes `state`.
"""

from notifications.models.change import Change, FeedPosition, Follower
from notifications.models.channel import Channel, Sender, SenderQuerySet, sort_channels
from notifications.models.delivery import Attempt, DailyTotal, Delivery
from notifications.models.notification import BoardMessage, Notification
