"""Delete old events with their attempts and effects, and the digests that told of them. Notifications stay."""

from django.conf import settings

from events.kinds.digest import DIGEST
from events.kinds.event import EVENT
from work import retention

# What a digest needs stays.
_NEEDED = """SELECT FROM events_effect f JOIN events_digest g ON g.id = f.digest_id
              WHERE f.event_id = d.id AND g.state NOT IN ('sent', 'cancelled', 'expired')"""
_EFFECTS = ", effects AS (DELETE FROM events_effect f USING old WHERE f.event_id = old.id)"


def prune() -> int:
    """Delete what was settled `EVENTS_KEPT_DAYS` ago. Returns how many events."""
    pruned = retention.prune(EVENT, settings.EVENTS_KEPT_DAYS, _NEEDED, _EFFECTS)
    retention.prune(DIGEST, settings.EVENTS_KEPT_DAYS, "SELECT FROM events_effect f WHERE f.digest_id = d.id")
    return pruned
