"""The kinds of job: each module of these packages that defines one is found when they are first used.

To add a kind, add a file: see docs/adding-a-job-kind.md.
"""

from functools import cache
from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules

from django.utils.translation import gettext as _

from jobs.kinds.base import JobKind

PACKAGES = [__name__]
"""Apps above this one, whose kinds need what stands there, add a package of theirs in `AppConfig.ready`."""


_LONGEST_SUMMARY = 200


@cache
def _found() -> dict[str, JobKind]:
    kinds = []
    for package in PACKAGES:
        for module_info in iter_modules(import_module(package).__path__):
            module = import_module(f"{package}.{module_info.name}")
            for value in vars(module).values():
                ours = isclass(value) and issubclass(value, JobKind) and value.__module__ == module.__name__
                if not ours or isabstract(value):
                    continue
                if value.name != module_info.name:
                    raise TypeError(f"{module.__name__} defines a job kind “{value.name}”: use the same name.")
                kinds.append(value())
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: (kind.position, kind.label))}


def all() -> list[JobKind]:
    """Return every kind, in the order in which pages list them."""
    return list(_found().values())


def offered() -> list[JobKind]:
    """Return those that people choose for their reminders."""
    return [kind for kind in all() if kind.offered]


def find(name: str) -> JobKind | None:
    """Return the kind of this name; None where a stored row names one that is not installed."""
    return _found().get(name)


def summary(name: str, payload: object) -> str:
    """Return one line that says what is looked at, also for a damaged payload: "commits of ada"."""
    if (kind := find(name)) is None:
        return _("%(name)s, which is not available here") % {"name": name}
    try:
        return kind.summary(payload if isinstance(payload, dict) else {})[:_LONGEST_SUMMARY]
    except Exception:  # a damaged row must not fail whole pages
        return str(kind.label)


def label(name: str) -> str:
    """Return what people call this kind; the name itself where there is none."""
    kind = find(name)
    return name if kind is None else str(kind.label)
