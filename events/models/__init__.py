"""The tables of events."""

from events.models.digest import Digest, DigestAttempt
from events.models.event import Effect, Event, EventAttempt
from events.models.rule import Rule
from events.models.topic import Subscription, Topic

__all__ = ["Digest", "DigestAttempt", "Effect", "Event", "EventAttempt", "Rule", "Subscription", "Topic"]
