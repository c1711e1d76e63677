"""The time since a source last brought something. Pure. A kind keeps it in its memory."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from jobs.kinds.base import Nothing
from jobs.reasons import JobCode
from work.reasons import Reason

DAYS = 30
"""After so many its person is told, once; a source that has come back after a pause may pause for twice as long."""
BROUGHT: Mapping[str, Any] = {"since": None, "days": DAYS, "told": False}


def follow(stored: Mapping[str, Any] | None, now: datetime, *, brings: bool) -> Mapping[str, Any] | None:
    """Return the memory after a check; None for a source that has never brought anything."""
    if stored is None or stored["since"] is None:
        if brings:
            return stored or BROUGHT
        return stored and {**stored, "since": now.isoformat()}
    silent = now - datetime.fromisoformat(stored["since"])
    if brings:
        return {**BROUGHT, "days": max(stored["days"], 2 * silent.days)}
    return {**stored, "told": stored["told"] or silent >= timedelta(days=stored["days"])}


def noted(decision: Nothing, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Nothing:
    """Return the decision with its record of a silence; the person is notified of it once."""
    if not after or not after["told"]:
        return decision
    reason = decision.reason.then(Reason(JobCode.SILENT, silent_since=after["since"]))
    is_news = not (before and before["told"])
    return replace(decision, reason=reason, silent_since=after["since"] if is_news else None)
