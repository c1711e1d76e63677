"""Delete what the looks of deleted reminders remember. The reminders stay, since their history refers to them."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from common.postgres import change, persist

_PRUNE = """
DELETE FROM jobs_memory m USING schedules_schedule s
 WHERE s.id = m.origin_id AND s.deleted_at < now() - %s * interval '1 day'
"""


def prune() -> int:
    """Delete the memories of reminders that were deleted `JOBS_KEPT_DAYS` ago. Returns how many."""
    return persist(partial(change, _PRUNE, [settings.JOBS_KEPT_DAYS]))
