"""The Celery tasks. Their arguments are ids only, because they are logged."""

from celery import shared_task

from events.intake import ledger
from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from events.kinds.step import STEP
from notifications.changes import feed
from work.broker import periodic
from work.retention import Retention
from work.tasks import task_of

handle = task_of(EVENT)
send_digest = task_of(DIGEST)
run_step = task_of(STEP)


@shared_task(name="events.record_changes", ignore_result=True)
def record_changes() -> None:
    ledger.record_changes()


periodic.NEEDED["events.record_changes"] = lambda: feed.waiting("events")


# What a digest needs stays.
_NEEDED = """SELECT FROM events_effect f JOIN events_digest g ON g.id = f.digest_id
              WHERE f.event_id = d.id AND g.state NOT IN ('sent', 'cancelled', 'expired')"""
_EFFECTS = """, effects AS (DELETE FROM events_effect f USING old WHERE f.event_id = old.id)
, flow_effects AS (DELETE FROM events_floweffect f USING old WHERE f.event_id = old.id)"""
EVENTS = Retention.work(EVENT, "events", "EVENTS_KEPT_DAYS", _NEEDED, _EFFECTS)
DIGESTS = Retention.work(DIGEST, "digests", "EVENTS_KEPT_DAYS", "SELECT FROM events_effect f WHERE f.digest_id = d.id")
REQUESTS = Retention("inbound requests", "INBOUND_KEPT_DAYS", "events_inboundrequest", "d.at < %(since)s")

_OF_RUNS = """, attempts AS (DELETE FROM events_stepattempt a USING old, events_step s
                WHERE s.run_id = old.id AND a.step_id = s.id)
, steps AS (DELETE FROM events_step s USING old WHERE s.run_id = old.id)
, effects AS (DELETE FROM events_floweffect f USING old WHERE f.run_id = old.id)"""
RUNS = Retention("runs", "EVENTS_KEPT_DAYS", "events_run", "d.ended_at < %(since)s", _OF_RUNS)


@shared_task(name="events.prune")
def prune() -> int:
    """Delete events that were settled `EVENTS_KEPT_DAYS` ago, their digests, ended runs, and old inbound requests.

    Notifications stay. Returns how many events.
    """
    pruned = EVENTS.prune()
    DIGESTS.prune()
    REQUESTS.prune()
    RUNS.prune()
    return pruned
