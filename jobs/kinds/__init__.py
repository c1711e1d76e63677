"""The kinds of job: each module of these packages that defines one is found when they are first used.

To add a kind, add a file: see docs/adding-a-job-kind.md.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from common.registry import Registry
from jobs.kinds.base import Ask, JobKind

PACKAGES = [__name__]
"""Apps above this one, whose kinds need what stands there, add a package of theirs in `AppConfig.ready`."""

_LONGEST_SUMMARY = 200
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


registry: Registry[JobKind] = Registry(JobKind, PACKAGES, "name")
all, find, label = registry.all, registry.find, registry.label


def offered() -> list[JobKind]:
    return [kind for kind in all() if kind.offered]


def summary(name: str, payload: object) -> str:
    """Return one line that says what is checked, also for a damaged payload: "commits of ada"."""
    if (kind := find(name)) is None:
        return _("%(name)s, which is not available here") % {"name": name}
    try:
        return kind.summary(payload if isinstance(payload, dict) else {})[:_LONGEST_SUMMARY]
    except Exception:  # a damaged row must not fail whole pages
        return str(kind.label)


def question(name: str, payload: Mapping[str, Any] | None, connection_id: UUID | None) -> tuple[Any, ...]:
    """Return the values that decide a reminder's answer; () where it checks nothing."""
    if not name:
        return ()
    kind, decisive = find(name), payload or {}
    if kind is not None:
        zone = ZoneInfo("UTC")
        ask = Ask(user_id=0, origin_id=None, zone=zone, slot=_ANY_TIME, now=_ANY_TIME, payload=decisive)
        try:
            decisive = kind.question(ask)
        except Exception:  # a damaged row: all of it is the question
            return name, connection_id, payload
    return name, connection_id, decisive
