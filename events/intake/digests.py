"""Gather events into digests, in the transaction that settles them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from common import zones
from common.database.postgres import query
from common.database.rows import Rows
from common.times import civil_time
from common.uuid7 import uuid7
from events.models import Effect, Rule
from events.pure import matching
from people.models import User
from work.broker import wakes
from work.broker.wakes import Wake

SEND = "events.send_digest"
_LONGEST_VALUE = 200

# Where a digest is claimed meanwhile, PostgreSQL waits for that, finds that its row has left the index, and opens
# another one. The rows are locked in one order, so that no two events wait for each other.
_FULL = """events_digest.gathered + 1 >= (SELECT r.digest_count FROM events_rule r WHERE r.id = excluded.rule_id)"""


class _NewDigest(NamedTuple):
    id: UUID
    rule_id: UUID
    type_pattern: str
    key_value: str
    available_at: datetime


_DIGESTS = Rows("d", _NewDigest)
_ADD = f"""
{
    _DIGESTS.insert(
        "events_digest",
        **wakes.new_work("extract(epoch FROM available_at - now())::float"),
        user_id="%(user)s",
        hops="%(hops)s",
        gathered="1",
        is_full="false",
    )
}
 ORDER BY rule_id
ON CONFLICT (rule_id, key_value)
      WHERE state = 'pending' AND tries = 0 AND released = 0 AND replays = 0 AND NOT is_full
DO UPDATE
   SET gathered = events_digest.gathered + 1, hops = greatest(events_digest.hops, excluded.hops),
       is_full = coalesce({_FULL}, false),
       available_at = CASE WHEN {_FULL} THEN least(events_digest.available_at, now())
                           ELSE events_digest.available_at END,
       wake_at = CASE WHEN {_FULL}
                      THEN least(events_digest.wake_at, now() + %(claim_within)s * interval '1 second')
                      ELSE events_digest.wake_at END
RETURNING id, rule_id, is_full OR gathered = 1 AS to_publish,
          greatest(0, extract(epoch FROM available_at - now()))::float AS wait
"""  # noqa: S608 - constants only


def add(effects: Sequence[Effect], user_id: int, envelope: Mapping[str, Any], now: datetime) -> list[Wake]:
    """Add one event to the open digest of each effect's rule, or to a new one, and name it in the effect.

    Returns what to publish after the commit: each digest when it is opened, and when it is full.
    """
    if not effects:
        return []
    by_rule = {effect.rule_id: effect for effect in effects}
    rules = [effect.rule for effect in effects]
    clock = any(rule.digest_at for rule in rules)
    zone = zones.read(User.objects.values_list("time_zone", flat=True).get(pk=user_id) if clock else "")
    new = (
        _NewDigest(uuid7(), one.id, one.type_pattern, key_value(one, envelope), _due(one, now, zone)) for one in rules
    )
    rows = query(_ADD, {**_DIGESTS.values(new), "user": user_id, "hops": envelope["hops"], **wakes.parameters()})
    for row in rows:
        by_rule[row.rule_id].digest_id = row.id
    return [Wake(SEND, row.id, row.wait, user_id) for row in rows if row.to_publish]


def key_value(rule: Rule, envelope: Mapping[str, Any]) -> str:
    """By what the rule keeps its digests apart; events without that field are gathered together."""
    value = matching.find(envelope, rule.digest_key) if rule.digest_key else matching.MISSING
    return "" if value is matching.MISSING else matching.shown(value, _LONGEST_VALUE)


def next_hour(at: time, now: datetime, zone: ZoneInfo) -> datetime:
    """The next instant at which the clock of `zone` shows `at`; see `civil_time` for its changes."""
    shown = civil_time.high_water(zone, now)
    civil = datetime.combine(shown.date(), at)
    return civil_time.first_instant(zone, civil if civil > shown else civil + timedelta(days=1))


def _due(rule: Rule, now: datetime, zone: ZoneInfo) -> datetime:
    if rule.digest_at is not None:
        return next_hour(rule.digest_at, now, zone)
    return now + timedelta(seconds=rule.digest_seconds or 0)
