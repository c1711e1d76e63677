"""Handle an event again, because its person wants it."""

from __future__ import annotations

from uuid import UUID

from events import ledger
from events.envelope import Envelope
from events.models import Event
from people.models import User
from work import dead_letters
from work.dead_letters import Who
from work.models import DEAD_LETTERS


def replay(event: Event, user: User) -> UUID:
    """Returns the key of the event that is handled: its own where it is a dead letter, else that of a new one.

    The new event has the same data and belongs to the same chain; its person's rules ring for it as for any other.
    """
    if event.state in DEAD_LETTERS:
        rows = Event.objects.filter(pk=event.pk)
        if dead_letters.replay(rows, "own dead event", Who(user.pk, user.email), cause=event.cause).changed:
            return event.key
    again = Envelope(
        type=event.type,
        data=event.data,
        source=event.source,
        occurred_at=event.occurred_at,
        correlation_id=event.correlation_id,
        topic_id=event.topic_id,
        audience=event.audience,
        audience_key=event.audience_key,
    )
    ledger.record(user.pk, [again])
    return again.key
