"""Outcomes of a channel's newest deliveries, for its page."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from common.database import postgres

NEWEST = 1_000
DAYS = 30

# Read by the index `delivery_of_channel`; ids grow with time.
_NEWEST = """
WITH newest AS (
    SELECT state, created_at, available_at, settled_at FROM notifications_delivery
     WHERE channel_id = %(channel)s ORDER BY id DESC LIMIT %(newest)s
)
SELECT count(*) AS counted,
       count(*) FILTER (WHERE state = 'delivered') AS sent,
       count(*) FILTER (WHERE state IN ('dead', 'unknown')) AS failed,
       max(settled_at) FILTER (WHERE state = 'delivered') AS last,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY settled_at - available_at)
           FILTER (WHERE state = 'delivered') AS median
  FROM newest WHERE created_at > now() - %(days)s * interval '1 day'
"""


class Statistics(NamedTuple):
    """Of the last `DAYS` days, at most `NEWEST` deliveries. `median` is from when one may be sent to its acceptance."""

    counted: int
    sent: int
    failed: int
    last: datetime | None
    median: timedelta | None


def of_channel(channel_id: UUID) -> Statistics:
    values = {"channel": channel_id, "newest": NEWEST, "days": DAYS}
    [row] = postgres.query(_NEWEST, values, Statistics)
    return row
