"""The tables of people, their access and their security."""

from people.models.access import (
    MOST_OF_AGENT,
    AddressChange,
    ApiToken,
    CalendarFeed,
    Code,
    RefusedMailbox,
    SecondFactor,
    SecurityEvent,
    Session,
)
from people.models.team import CallOverride, Invitation, Membership, OnCall, Role
from people.models.user import DISPLAY_NAME_SQL, Theme, User, display_name, validate_printable
