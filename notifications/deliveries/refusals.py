"""Providers that refuse everybody: the newest tries have all failed, for several channels."""

from collections.abc import Collection
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from common.database.postgres import column, query
from notifications import providers
from notifications.reasons import DeliveryCode
from work.operators.problems import Problem, Words, page
from work.reasons import Reason

TRIES = 3
CHANNELS = 3
"""Of a provider with a host for each channel, so many must fail; of others, one is enough."""
_MINUTES = 10
_EXAMINED = 2_000
_NOT_SENT = (
    *(DeliveryCode.DISABLED, DeliveryCode.UNVERIFIED, DeliveryCode.REMOVED),
    *(DeliveryCode.NO_PROVIDER, DeliveryCode.UNREADABLE),
)

# Those after the last one that arrived, by provider.
_REFUSED = """
WITH newest AS MATERIALIZED (
    SELECT a.id, a.outcome, a.reason_code, a.reason_params::text AS reason_params, a.started_at, a.delivery_id
      FROM notifications_attempt a ORDER BY a.id DESC LIMIT %(most)s
), tries AS MATERIALIZED (
    SELECT n.*, d.provider, d.channel_id FROM newest n JOIN notifications_delivery d ON d.id = n.delivery_id
     WHERE n.started_at > now() - %(minutes)s * interval '1 minute'
), arrived AS (
    SELECT provider, max(id) AS id FROM tries WHERE outcome = 'delivered' GROUP BY provider
)
SELECT t.provider, arrived.id IS NOT NULL AS has_arrived,
       count(*) AS count, count(*) FILTER (WHERE t.outcome <> 'rejected') AS retried,
       count(DISTINCT t.channel_id) AS channels,
       (array_agg(t.reason_code ORDER BY t.id DESC))[1] AS reason_code,
       (array_agg(t.reason_params ORDER BY t.id DESC))[1] AS reason_params
  FROM tries t LEFT JOIN arrived ON arrived.provider = t.provider
 WHERE (t.outcome IN ('retryable', 'rejected', 'ambiguous') AND t.reason_code <> ALL(%(not_sent)s::text[])
        AND t.id > coalesce(arrived.id, 0)) OR t.id = arrived.id
 GROUP BY t.provider, arrived.id
"""


def refusing(open_keys: Collection[str]) -> list[Problem]:
    """One problem for each provider that refuses everybody. One of `open_keys` lasts until something arrives."""
    values = {"most": _EXAMINED, "minutes": _MINUTES, "not_sent": column(_NOT_SENT, str)}
    rows = {row.provider: row for row in query(_REFUSED, values)}
    problems = []
    for provider in providers.registry.by_name:
        row, key = rows.get(provider), f"provider:{provider}"
        if row is not None and _refuses(row):
            problems.append(Problem(key, partial(_words, provider, row)))
        elif key in open_keys and not (row and row.has_arrived):
            problems.append(Problem(key))
    return problems


def _refuses(row: Any) -> bool:
    failed = row.count - row.has_arrived
    # One host for everybody: an address that is refused for good says nothing about the others.
    is_shared = row.provider == "email" or row.provider in settings.SERVICE_URLS
    return failed >= TRIES and (row.channels >= CHANNELS or (is_shared and row.retried - row.has_arrived >= TRIES))


def _words(provider: str, row: Any) -> Words:
    name = providers.get(provider).label
    summary = _("The last %(count)s tries for %(channels)s channels have failed. The newest: %(reason)s")
    reason = str(Reason.read(row.reason_code, row.reason_params))
    return Words(
        _("%(provider)s refuses everybody") % {"provider": name},
        summary % {"count": row.count - row.has_arrived, "channels": row.channels, "reason": reason},
        page("admin:notifications_delivery_changelist"),
    )
