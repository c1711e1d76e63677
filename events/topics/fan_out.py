"""Events for many: each is a batch for a topic's subscribers, or for an audience, as it was when it was recorded."""

from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext_lazy as _

from events.intake import handling, ledger
from events.intake.handling import EventClaim
from events.models import Event, Topic
from events.pure.envelope import as_sent, copy_of
from jobs.batches import progress
from jobs.batches.audiences import AUDIENCES, NOT_LEFT, Audience
from jobs.batches.progress import NewBatch
from notifications.models import Notification
from work.broker.wakes import Wake

# Names the origins of what people announce by events (RFC 9562, section 5.5).
_ANNOUNCERS = UUID("c1f0a3a2-3b0b-4d0a-9d1e-5b8c1d6f2e90")

AUDIENCES["topic"] = Audience(
    "topic",
    _("Subscribers of a topic"),
    # People leave the announcements of a reminder to it without leaving the topic.
    f"""
SELECT s.user_id, s.channel_ids, CASE WHEN (SELECT origin_id FROM held) = s.topic_id THEN s.id END AS own_id
  FROM events_subscription s
 WHERE s.topic_id = (SELECT audience_key::uuid FROM held) AND s.user_id IS NOT NULL
   AND s.left_at IS NULL AND s.joined_at <= (SELECT as_of FROM held) AND {NOT_LEFT.format("s.user_id")}""",  # noqa: S608 - constants only
    lambda user: [(str(topic.id), topic.name) for topic in Topic.objects.for_user(user)],
    nobody="""
SELECT count(*) FROM events_subscription s
 WHERE s.topic_id = (SELECT audience_key::uuid FROM held) AND s.user_id IS NULL
   AND s.left_at IS NULL AND s.joined_at <= (SELECT as_of FROM held)""",
)


def batch(event: EventClaim, topic: Topic | None) -> NewBatch:
    """Return the batch for the topic's subscribers, or the audience that the event names."""
    envelope = as_sent(event)
    if topic is not None:
        message = handling.compose(topic.title, topic.body, envelope)
        of: dict[str, Any] = {
            "id": ledger.batch_of(event.id, topic.id),
            "audience": "topic",
            "audience_key": str(topic.id),
            "origin": Notification.Origin.TOPIC,
            "origin_id": topic.id,
        }
    else:
        message = handling.compose("{data.title}", "{data.body}", envelope)
        of = {
            "id": uuid5(event.id, event.audience),
            "audience": event.audience,
            "audience_key": event.audience_key,
            "origin": Notification.Origin.ANNOUNCEMENT,
            # Who stops one stops all that this person's programs announce.
            "origin_id": uuid5(_ANNOUNCERS, str(event.user_id)),
        }
    return NewBatch(
        **of,
        user_id=event.user_id,
        correlation_id=event.chain,
        as_of=event.created_at,
        message={
            "title": message.subject,
            "body": message.body,
            "hops": event.hops + 1,
            "category": "" if topic is None else topic.slug,
            "data": copy_of(event),
        },
    )


def record(event: EventClaim, topic: Topic | None) -> list[Wake]:
    """Record the batch, in the transaction that settles the event; returns what to publish after it."""
    new = batch(event, topic)
    wakes = progress.record([new])
    Event.objects.filter(id=event.id).update(batch=new.id)
    return wakes
