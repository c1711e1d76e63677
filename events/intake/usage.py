"""The quota of a person: events a minute, and events and stored bytes a UTC day, with what is used of it.

Two requests at once may pass together; what they have written counts for the next.
"""

from collections.abc import Collection
from typing import NamedTuple

from django.conf import settings

from common.database.postgres import column, execute, query
from common.database.rows import Rows
from events.intake import registered
from events.reasons import EventCode
from work.reasons import Reason

_SHARDS = 4
_TODAY = "(now() AT TIME ZONE 'UTC')::date"
_MINUTE = "date_trunc('minute', now())"
_COUNTS = Rows("n", user_id=int, day_events=int, day_bytes=int)
_OF_NOW = {"shard": f"pg_backend_pid() %% {_SHARDS}", "day": _TODAY, "minute": _MINUTE, "minute_events": "day_events"}
_COUNT = f"""
{_COUNTS.insert("events_usage AS u", **_OF_NOW)} ORDER BY user_id
ON CONFLICT (user_id, shard) DO UPDATE
   SET day = excluded.day, minute = excluded.minute,
       day_events = CASE WHEN u.day = excluded.day THEN u.day_events ELSE 0 END + excluded.day_events,
       day_bytes = CASE WHEN u.day = excluded.day THEN u.day_bytes ELSE 0 END + excluded.day_bytes,
       minute_events = CASE WHEN u.minute = excluded.minute THEN u.minute_events ELSE 0 END + excluded.minute_events
"""  # noqa: S608 - constants only
_READ = f"""
SELECT coalesce(p.events_per_day, %(events)s) AS most_events,
       coalesce(p.event_megabytes_per_day, %(megabytes)s) * 1048576::bigint AS most_bytes,
       %(a_minute)s::bigint AS most_a_minute,
       ARRAY(SELECT asked || ' ' || found FROM (
           SELECT asked, {registered.sql("p.id", "asked")} AS found FROM unnest(%(types)s::text[]) asked
       ) named WHERE found IS NOT NULL) AS registered,
       coalesce(sum(u.day_events) FILTER (WHERE u.day = {_TODAY}), 0)::bigint AS events,
       coalesce(sum(u.day_bytes) FILTER (WHERE u.day = {_TODAY}), 0)::bigint AS bytes,
       coalesce(sum(u.minute_events) FILTER (WHERE u.minute = {_MINUTE}), 0)::bigint AS this_minute,
       ceil(extract(epoch FROM {_MINUTE} + interval '1 minute' - now()))::int AS next_minute,
       ceil(extract(epoch FROM ({_TODAY} + 1)::timestamp AT TIME ZONE 'UTC' - now()))::int AS tomorrow
  FROM people_user p LEFT JOIN events_usage u ON u.user_id = p.id WHERE p.id = %(user)s GROUP BY p.id
"""  # noqa: S608 - constants only


class QuotaReached(Exception):
    """`wait` is in seconds; `reason` is for the person."""

    def __init__(self, reason: Reason, wait: int) -> None:
        super().__init__(str(reason))
        self.reason, self.wait = reason, max(1, wait)


class Used(NamedTuple):
    """A person's use of their quota; a limit of 0 is none. `next_minute` and `tomorrow` are in seconds.

    `registered`: those of the asked types that are registered, as `registered.check` reads them."""

    events: int
    most_events: int
    bytes: int
    most_bytes: int
    this_minute: int
    most_a_minute: int
    next_minute: int
    tomorrow: int
    registered: list[str]


def used(user_id: int, types: Collection[str] = ()) -> Used:
    values = {
        "types": column(types),
        "user": user_id,
        "events": settings.EVENTS_PER_PERSON_PER_DAY,
        "megabytes": settings.EVENT_MEGABYTES_PER_PERSON_PER_DAY,
        "a_minute": settings.EVENTS_PER_PERSON_PER_MINUTE,
    }
    [row] = query(_READ, values, Used)
    return row


def check(user_id: int, events: int, types: Collection[str] = ()) -> Used:
    """Raises QuotaReached where so many more events do not fit. `types`: see `Used.registered`."""
    now = used(user_id, types)
    if now.most_a_minute and now.this_minute + events > now.most_a_minute:
        raise QuotaReached(Reason(EventCode.EVENTS_A_MINUTE, most=now.most_a_minute), now.next_minute)
    if now.most_events and now.events + events > now.most_events:
        raise QuotaReached(Reason(EventCode.EVENTS_A_DAY, used=now.events, most=now.most_events), now.tomorrow)
    if now.most_bytes and now.bytes >= now.most_bytes:
        raise QuotaReached(Reason(EventCode.BYTES_A_DAY, used=now.bytes, most=now.most_bytes), now.tomorrow)
    return now


def count(*written: tuple[int, int, int]) -> None:
    """Count what is written, in its transaction: (id, events, bytes) of each person. Rows are locked in one order."""
    execute(_COUNT, _COUNTS.values(written))
