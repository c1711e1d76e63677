"""The chart of the history: how much arrived and how much failed, in at most 90 bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.formats import time_format
from django.utils.translation import gettext as _

from common.database.postgres import column, query
from common.times import dates
from common.uuid7 import first_of
from notifications.messages.change_types import STATUS
from notifications.web.history_form import HistoryForm, midnight

MOST_BARS = 90
_USUAL = timedelta(days=29)  # before the last day, where no first one is chosen
MOST_COUNTED = 100_000  # of each channel and state, spread over the bars
HEIGHT = 1_000  # of the drawing

# By the index `delivery_history` alone, whose ids are in the order of time: for each channel and state that the time
# has at all, each bar is a range of ids. Codes and tests are few; they are counted apart and subtracted.
# Of what is not kept any more there is a number a day, in UTC, over all channels.
_COUNTS = """
WITH pair AS MATERIALIZED (
    SELECT c.id, s.state FROM unnest(%(channels)s::uuid[]) c (id), unnest(%(states)s::text[]) s (state)
     WHERE EXISTS (SELECT FROM notifications_delivery d
                    WHERE d.channel_id = c.id AND d.state = s.state AND d.settled_at IS NOT NULL
                      AND d.notification_id >= %(first)s AND d.notification_id < %(last)s)
), apart AS MATERIALIZED (
    SELECT d.state, d.notification_id
      FROM notifications_notification n JOIN notifications_delivery d ON d.notification_id = n.id
     WHERE n.user_id = %(user)s AND n.origin IN ('test', 'code') AND n.id >= %(first)s AND n.id < %(last)s
       AND d.channel_id = ANY (%(channels)s::uuid[])
), bar AS MATERIALIZED (
    SELECT * FROM unnest(%(lows)s::uuid[], %(highs)s::uuid[]) WITH ORDINALITY bar (low, high, number)
), cell AS (
    SELECT bar.number, pair.state, counted.count
      FROM bar CROSS JOIN pair CROSS JOIN LATERAL (
               SELECT count(*) FROM (
                   SELECT FROM notifications_delivery d
                    WHERE d.channel_id = pair.id AND d.state = pair.state AND d.settled_at IS NOT NULL
                      AND d.notification_id >= bar.low AND d.notification_id < bar.high LIMIT %(most)s) matches
           ) counted
    UNION ALL
    SELECT bar.number, apart.state, -1 FROM apart JOIN bar ON notification_id >= bar.low AND notification_id < bar.high
    UNION ALL
    SELECT days.number, total.state, total.count
      FROM unnest(%(days)s::date[]) WITH ORDINALITY days (first, number)
      JOIN notifications_dailytotal total
        ON total.user_id = %(user)s AND total.day >= days.first
       AND total.day < coalesce((%(days)s::date[])[days.number + 1], %(end)s) AND total.provider <> %(status)s
)
SELECT greatest(sum(count) FILTER (WHERE state = 'delivered'), 0)::int AS delivered,
       greatest(sum(count) FILTER (WHERE state IN ('dead', 'unknown')), 0)::int AS failed,
       coalesce(max(count) >= %(most)s, false) AS is_cut
  FROM bar LEFT JOIN cell USING (number) GROUP BY number ORDER BY number
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """`first` and `last` are its days; the heights are in units of the drawing."""

    label: str
    first: date
    last: date
    delivered: int
    failed: int
    delivered_height: int
    failed_height: int


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` is the number that the highest bar stands for, `is_cut` whether a bar is higher than drawn."""

    bars: Sequence[Bar]
    most: int
    is_cut: bool

    @property
    def is_one_day(self) -> bool:
        return self.bars[0].first == self.bars[-1].last

    @property
    def delivered(self) -> int:
        return sum(bar.delivered for bar in self.bars)

    @property
    def failed(self) -> int:
        return sum(bar.failed for bar in self.bars)

    @property
    def summary(self) -> str:
        values = {"first": _day(self.bars[0].first), "last": _day(self.bars[-1].last)}
        if self.is_one_day:
            return _("What arrived on %(first)s") % values
        return _("What arrived from %(first)s to %(last)s") % values


def chart(form: HistoryForm, user_id: int) -> Chart | None:
    """Of the days and the channel that are chosen, the last 30 days by default; None where nothing was sent."""
    last = min(form.chosen("until") or timezone.localdate(), timezone.localdate())
    first = form.chosen("since") or last - _USUAL
    if first > last:
        return None
    edges = _edges(first, last)
    counts = _counts(user_id, form.channel_ids, [edge for edge, _label in edges], form.chosen("channel") is None)
    return _drawn(edges, counts) if any(row.delivered or row.failed for row in counts) else None


def _edges(first: date, last: date) -> list[tuple[datetime, str]]:
    """Return the start of each bar with its label, and the end of the last one."""
    if first == last:
        start, end = (midnight(day).astimezone(UTC) for day in (first, first + timedelta(days=1)))
        hours = [start + timedelta(hours=hour) for hour in range(-((start - end) // timedelta(hours=1)))]
        return [*((hour, time_format(timezone.localtime(hour), "H:i")) for hour in hours), (end, "")]
    days = (last - first).days + 1
    step = 1 if days <= MOST_BARS else 7 * -(-days // (7 * MOST_BARS))
    starts = [first + timedelta(days=number) for number in range(0, days, step)]
    ends = [*(day - timedelta(days=1) for day in starts[1:]), last]
    labels = [_days(one, other) for one, other in zip(starts, ends, strict=True)]
    return [
        *((midnight(day), label) for day, label in zip(starts, labels, strict=True)),
        (midnight(last + timedelta(days=1)), ""),
    ]


def _counts(user_id: int, channels: Sequence[UUID], edges: Sequence[datetime], of_all: bool) -> list[Any]:
    """For each bar, how many were `delivered` and how many `failed`, and whether there are more (`is_cut`).

    Where `of_all` channels, with those of days whose messages are not kept any more; not by the hour.
    """
    ids = [first_of(edge) for edge in edges]
    days = [timezone.localtime(edge).date() for edge in edges]
    has_days = of_all and len(set(days)) == len(days)
    values = {
        "user": user_id,
        "channels": list(channels),
        "states": ["delivered", "dead", "unknown"],
        "first": ids[0],
        "last": ids[-1],
        "lows": column(ids[:-1]),
        "highs": column(ids[1:]),
        "most": MOST_COUNTED // (len(ids) - 1),
        "days": days[:-1] if has_days else [],
        "end": days[-1],
        "status": STATUS,
    }
    return query(_COUNTS, values)


def _drawn(edges: Sequence[tuple[datetime, str]], counts: Sequence[Any]) -> Chart:
    highest = max(row.delivered + row.failed for row in counts)
    bars = []
    for ((start, label), (end, _label)), row in zip(pairwise(edges), counts, strict=True):
        first = timezone.localtime(start).date()
        last = timezone.localtime(end - timedelta(microseconds=1)).date()
        failed_height = _height(row.failed, highest)
        delivered_height = min(_height(row.delivered, highest), HEIGHT - failed_height)
        bars.append(Bar(label, first, last, row.delivered, row.failed, delivered_height, failed_height))
    return Chart(bars, highest, any(row.is_cut for row in counts))


def _height(count: int, highest: int) -> int:
    """At least what can be seen, where there is anything."""
    return max(round(HEIGHT * count / highest), 20) if count else 0


def _days(first: date, last: date) -> str:
    return _day(first) if first == last else _("%(first)s to %(last)s") % {"first": _day(first), "last": _day(last)}


def _day(day: date) -> str:
    return dates.short_day(day, day.year != timezone.localdate().year)
