"""The event as a kind of work: handling one tells its topic's subscribers, and records what rules make of it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from celery import signals
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.database import correlation
from events.flows.base import Flow
from events.intake import handling, ledger, registered
from events.intake.handling import EventClaim
from events.intake.ledger import COST, HANDLE, RULES_A_COST
from events.models import Event, EventAttempt, Rule, Topic
from events.pure import types
from events.pure.envelope import as_sent, copy_of
from events.reasons import EventCode
from events.runs import apply
from events.runs.apply import ForRun
from events.topics import subscriptions
from jobs.batches import progress
from jobs.batches.audiences import AUDIENCES, NOT_LEFT, Audience
from jobs.batches.progress import NewBatch
from notifications.models import Notification
from work.answers import Answer, Cancel, Defer, Done, NotStarted
from work.broker import fair_queue, load
from work.broker.wakes import Wake, publish_after_commit
from work.kinds import Kind, Settle
from work.reasons import Reason
from work.retry import INSIDE

AT_ONCE = 12
"""Events of the bulk queue that a worker with threads has in hand: of its 16 connections, each may hold one."""
COSTLY_AT_ONCE = 4
"""Of those that cost the most. Each may make a hundred messages, in a transaction: more would hold its CPU."""
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


class EventKind(Kind[EventClaim]):
    task = HANDLE
    queue = "events"
    model, attempts = Event, EventAttempt
    handler = "type"
    source = "d.source"
    caused_by = source
    chain = correlation.sql("d")
    cost = COST
    rescues = "SELECT FROM events_subscription WHERE asked_at IS NOT NULL"
    claim = EventClaim
    waits_for_locks = (0.1, 5.0)  # a run that somebody else has: events of one key come one by one
    retries = INSIDE
    repeats = True  # what handling does commits with the settlement, or not at all

    def prepare(self, claim: EventClaim) -> Defer | Cancel | Answer | Callable[[], Answer]:
        if claim.hops > settings.MOST_HOPS:
            # No dead letter: nothing is broken, and nobody needs to act.
            return Cancel(Reason(EventCode.TOO_MANY_HOPS, hops=claim.hops, most=settings.MOST_HOPS))
        if problem := types.problem(claim.type, claim.data):
            return NotStarted(problem)
        warning = registered.problem(claim.registered, claim.data)
        if warning.code and claim.registered and claim.registered.refuses:
            return NotStarted(warning)
        topic = None if claim.topic_id is None else Topic.objects.filter(id=claim.topic_id).first()
        rules, flows = handling.rules_for(claim), apply.flows_for(claim)
        is_to_run, others = claim.type in types.TO_RUNS, rules or topic or claim.audience
        if not (others or flows or is_to_run):
            return Done(warning)
        is_for_one_run = not others and len(flows) + is_to_run == 1
        shared = ForRun(claim, next(iter(flows), None)) if is_for_one_run else None
        return Done(warning, partial(_handle, claim, rules, flows, topic), shared=shared)

    def apply_together(self, shared: Sequence[ForRun], settle: Settle) -> list[bool | Exception]:
        return apply.apply_together(shared, settle)

    def keeps_receipt(self, receipt: Reason) -> bool:
        return receipt.code == EventCode.UNFIT

    def rescue(self) -> int:
        return subscriptions.subscribe_added()


@signals.celeryd_after_setup.connect
def _limit(instance: Any, **_: Any) -> None:
    if instance.pool_cls.__module__.endswith(".thread"):
        each = max(1, settings.MOST_RULES // RULES_A_COST)
        load.limit(fair_queue.QUEUE, HANDLE, AT_ONCE, each, max(AT_ONCE, COSTLY_AT_ONCE * each))


def _handle(event: EventClaim, rules: Sequence[Rule], flows: Sequence[Flow], topic: Topic | None) -> None:
    if event.type in types.TO_RUNS:
        apply.apply_to_run(event)
    for flow in flows:
        apply.apply(event, flow)
    if topic is not None or event.audience:
        publish_after_commit(_record_batch(event, topic))
    if rules:
        handling.handle(event, rules)


EVENT = EventKind()


def _batch(event: EventClaim, topic: Topic | None) -> NewBatch:
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


def _record_batch(event: EventClaim, topic: Topic | None) -> list[Wake]:
    """Record the batch, in the transaction that settles the event; returns what to publish after it."""
    new = _batch(event, topic)
    wakes = progress.record([new])
    Event.objects.filter(id=event.id).update(batch=new.id)
    return wakes
