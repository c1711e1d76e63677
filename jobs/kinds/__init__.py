"""The kinds of job: each module of these packages that defines one is found when they are first used.

To add a kind, add a file: see docs/adding-a-job-kind.md.
"""

from django.utils.translation import gettext as _

from common.registry import Registry
from jobs.kinds.base import JobKind

PACKAGES = [__name__]
"""Apps above this one, whose kinds need what stands there, add a package of theirs in `AppConfig.ready`."""

_LONGEST_SUMMARY = 200


registry: Registry[JobKind] = Registry(JobKind, PACKAGES, "name")
all, find, label = registry.all, registry.find, registry.label


def offered() -> list[JobKind]:
    """Return those that people choose for their reminders."""
    return [kind for kind in all() if kind.offered]


def summary(name: str, payload: object) -> str:
    """Return one line that says what is checked, also for a damaged payload: "commits of ada"."""
    if (kind := find(name)) is None:
        return _("%(name)s, which is not available here") % {"name": name}
    try:
        return kind.summary(payload if isinstance(payload, dict) else {})[:_LONGEST_SUMMARY]
    except Exception:  # a damaged row must not fail whole pages
        return str(kind.label)
