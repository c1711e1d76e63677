"""The tables of events."""

from events.models.event import DeadDigest, DeadLetter, Digest, DigestAttempt, Effect, Event, EventAttempt, Usage
from events.models.flow import FailedStep, FlowEffect, FlowSettings, OpenAlert, Run, Step, StepAttempt
from events.models.inbound import InboundAddress, InboundRequest
from events.models.registered_type import RegisteredType
from events.models.rule import Rule
from events.models.topic import Subscription, Topic
