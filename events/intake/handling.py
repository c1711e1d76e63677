"""Apply a person's rules to an event, in the transaction that settles it: a notification, or the reason why not."""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Any
from uuid import UUID, uuid5

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from common.database import fault_points
from common.database.postgres import column, columns, execute, instance, query
from common.parsing.budget import Budget
from common.uuid7 import child
from events.intake import digests, registered, usage
from events.intake.registered import Registered
from events.models import Effect, Rule
from events.pure import matching, steps
from events.pure.envelope import as_sent, copy_of
from events.reasons import EventCode
from jobs.checks import recording
from jobs.checks.recording import NewJob, SendAs
from notifications.deliveries import outbox
from notifications.deliveries.outbox import NewNotification
from notifications.messages import text
from notifications.models import Notification, sort_channels
from people import quiet
from people.quiet import Hours
from work import kinds
from work.broker.wakes import publish_after_commit
from work.kinds import Loaded
from work.reasons import Reason

_ROW = 300  # bytes of an effect, a delivery, a job, or of a message beside its texts

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventClaim(kinds.Claim):
    """A leased event. `topic_id` is that of the topic to whose subscribers it goes, if any; `registered` its registered
    type; `quiet` the quiet hours of its person."""

    user_id: int
    key: str
    type: str
    source: str
    occurred_at: datetime
    chain: Annotated[str, Loaded("$chain")]
    hops: int
    created_at: datetime
    data: Annotated[dict[str, Any], Loaded("d.data::text", read=json.loads)]
    topic_id: UUID | None
    audience: str
    audience_key: str
    registered: Annotated[Registered | None, Loaded(registered.sql("d.user_id", "d.type"), read=registered.read)]
    quiet: Annotated[Hours | None, Loaded(quiet.columns("p"), read=quiet.read)]


def handle(event: EventClaim, rules: Sequence[Rule]) -> None:
    """Apply the rules that are for the event, in a number of statements that does not grow with them."""
    envelope = as_sent(event)
    fired, budget, copy = _fired_lately(rules), matching.budget_of_event(), ""
    effects, digested, notifications, series = [], [], [], []
    for rule in rules:
        effect = Effect(event_id=event.id, rule=rule)
        decided = _decide(rule, envelope, fired, budget)
        if isinstance(decided, Reason):
            effect.outcome = Effect.Outcome.SILENT
            effect.reason_code, effect.reason_params = decided.code, decided.params
        elif rule.digests:
            effect.outcome = Effect.Outcome.DIGESTED
            digested.append(effect)
        else:
            effect.outcome, effect.notification_id = Effect.Outcome.NOTIFIED, child(event.id, rule.id)
            copy = copy or copy_of(event)
            notifications.append(_notification(event, rule, decided, effect.notification_id, copy))
            if rule.series:
                series.append(_series(event, rule, envelope))
        effects.append(effect)
    due = digests.add(digested, event.user_id, envelope, event.claimed_at)
    Effect.objects.bulk_create(effects)
    publish_after_commit([*outbox.record(notifications), *recording.record(series), *due])
    stored = sum(map(size_of, notifications)) + sum(map(_size_of_series, series))
    # Last: all events of a person lock the same few rows for it.
    usage.count((event.user_id, 0, stored + _ROW * len(effects)))
    fault_points.reach("recorded")


def size_of(new: NewNotification) -> int:
    """The bytes that a message and its deliveries take, for the quota."""
    return len(f"{new.subject}{new.body}{new.data or ''}".encode()) + _ROW * (1 + len(new.channels))


def _size_of_series(job: NewJob) -> int:
    """Of all its steps, counted when it begins: each step has a job, with the texts of all, and a message."""
    of_all, steps_of_it = len(json.dumps(job.payload)), len(job.payload["steps"])
    return of_all + steps_of_it * (of_all + _ROW * (2 + len(job.send_as.channels or ())))


# Every event pays for it: its plan is kept, and Django does not write its text again.
_RULES = f"""
SELECT {columns(Rule, "r")},
       ARRAY(SELECT ARRAY[c.id::text, c.provider] FROM events_rule_channels l JOIN notifications_channel c
                 ON c.id = l.channel_id WHERE l.rule_id = r.id AND c.removed_at IS NULL) AS sends_to
  FROM events_rule r
 WHERE r.user_id = %(user)s AND r.enabled AND r.deleted_at IS NULL AND r.source IN ('', %(source)s)
 ORDER BY r.id
"""  # noqa: S608 - names of columns


def rules_for(event: EventClaim) -> list[Rule]:
    """The enabled rules of the event's person whose type and source fit, with the channels of each."""
    rules = []
    for row in execute(_RULES, {"user": event.user_id, "source": event.source}).fetchall():
        rule = instance(Rule, row)
        if matching.fits_pattern(rule.type_pattern, event.type):
            rule.sends_to = [(UUID(key), provider) for key, provider in row.sends_to]
            rules.append(rule)
    return rules


_FIRED = """
SELECT r.id, (SELECT count(*) FROM (
           SELECT FROM events_effect e
            WHERE e.rule_id = r.id AND e.outcome = 'notified'
              AND e.at > now() - r.throttle_seconds * interval '1 second'
            LIMIT r.throttle_count
       ) lately) AS fired
  FROM events_rule r WHERE r.id = ANY(%s::uuid[])
"""


def _fired_lately(rules: Sequence[Rule]) -> dict[UUID, int]:
    """Return how often each rule with a throttle has fired within its time.

    They stay locked, so that two events count one after the other; in one order, so that none waits for the other.
    """
    throttled = [rule.id for rule in rules if rule.throttle_count is not None]
    if not throttled:
        return {}
    list(Rule.objects.filter(id__in=throttled).order_by("id").select_for_update(no_key=True).values_list("id"))
    return {row.id: row.fired for row in query(_FIRED, [column(throttled)])}


def _decide(rule: Rule, envelope: dict[str, Any], fired: dict[UUID, int], budget: Budget) -> Reason | text.Text:
    """Why the rule does nothing, or what it says."""
    try:
        if reason := matching.unmet(matching.read_conditions(rule.conditions), envelope, budget):
            return reason
        message = compose(rule.title, rule.body, envelope)
    except Exception as error:
        # One damaged rule stops no other.
        log.error("Rule %s cannot be read: %s", rule.id, type(error).__name__)
        return Reason(EventCode.DAMAGED_RULE, error=type(error).__name__)
    if not rule.sends_to:
        return Reason(EventCode.NO_CHANNEL)
    if rule.throttle_count is not None and fired.get(rule.id, 0) >= rule.throttle_count:
        return Reason(EventCode.THROTTLED, count=rule.throttle_count, seconds=rule.throttle_seconds)
    return message


def compose(title: str, body: str, envelope: dict[str, Any]) -> text.Text:
    """The texts of a rule or of a topic, filled in from an event."""
    return text.cut(matching.fill(title, envelope), matching.fill(body, envelope, literal=True), _("Event"))


def _notification(event: EventClaim, rule: Rule, message: text.Text, key: UUID, copy: str) -> NewNotification:
    """Its batch follows from the event and the rule, so that a rule fires once for an event."""
    return new_notification(
        rule,
        message,
        quiet.wait(event.claimed_at, event.quiet),
        id=key,
        batch_id=uuid5(event.id, str(rule.id)),
        correlation_id=event.chain,
        hops=event.hops + 1,
        data=copy,
    )


def _series(event: EventClaim, rule: Rule, envelope: dict[str, Any]) -> NewJob:
    """The series that follows a rule's message. What the event says is filled in now, not as a placeholder later."""

    def filled(template: str, *, literal: bool = False) -> str:
        return text.without_placeholders(matching.fill(template, envelope, literal=literal))

    written: list[dict[str, Any]] = []
    with suppress(ValidationError):  # a damaged row: the job says so
        written = steps.read(rule.series, lambda _: [])
    texts = [{**step, "title": filled(step["title"]), "body": filled(step["body"], literal=True)} for step in written]
    same = []
    if rule.series_key and (value := matching.find(envelope, rule.series_key)) is not matching.MISSING:
        shown = matching.shown(value, matching.LONGEST_VALUE)
        same = [{"field": rule.series_key, "operator": "equals", "value": shown}]
    send_as = SendAs(
        title=rule.name,
        body="",
        channels=_channels(rule),
        name="",
        time_zone="UTC",
        urgent=rule.urgent,
        **outbox.order_of(rule),
        origin=str(Notification.Origin.EVENT),
        hops=event.hops + 1,
    )
    return NewJob(
        user_id=rule.user_id,
        kind="series",
        payload={"steps": texts, "ends_on": rule.series_ends_on, "same": same},
        connection_id=None,
        batch_id=uuid5(event.id, f"{rule.id} series"),
        slot=event.claimed_at,
        send_as=send_as,
        origin_id=rule.id,
        correlation_id=event.chain,
    )


def new_notification(rule: Rule, message: text.Text, wait: quiet.Wait | None, **fields: Any) -> NewNotification:
    """Return the notification of a rule with its channels; `wait` is for the end of its person's quiet hours."""
    return NewNotification(
        user_id=rule.user_id,
        channels=_channels(rule),
        subject=message.subject,
        body=message.body,
        origin=Notification.Origin.EVENT,
        origin_id=rule.id,
        urgent=rule.urgent,
        quiet_hours=None if rule.urgent else wait,
        **outbox.order_of(rule),
        **fields,
    )


def _channels(rule: Rule) -> list[tuple[UUID, str]]:
    return sort_channels(rule.channel_order, rule.sends_to, itemgetter(0))
