"""Problems of the clock, for operators: no beat, periodic tasks that do not run, reminders that cannot be read."""

from functools import partial

from django.utils.translation import gettext as _

from common.database.postgres import query
from schedules.beat import heartbeat, periodic_runs
from work.operators.problems import Problem, Words, page

STOPPED = 30.0
"""Seconds without a heartbeat of any beat; one that starts anew takes ten."""
_MOST = 100

_BROKEN = """
SELECT id, error FROM schedules_schedule WHERE state = 'broken' AND deleted_at IS NULL ORDER BY id DESC LIMIT %s
"""


def beat() -> list[Problem]:
    """No beat was seen for half a minute, or ever."""
    age = heartbeat.age()
    return [] if age is not None and age < STOPPED else [NO_BEAT]


def _stopped() -> Words:
    summary = _("No reminder is sent, and nothing periodic runs. Start a beat, and read its log.")
    return Words(_("No beat is running"), summary, page("outages"))


NO_BEAT = Problem("beat:stopped", _stopped)


def periodic_tasks() -> list[Problem]:
    """One problem for each task that is disabled or does not run."""
    faults = periodic_runs.faults()
    return [Problem(f"periodic:{name}", partial(_periodic, name, is_off)) for name, is_off in faults.items()]


def sentences() -> list[str]:
    """Those of periodic tasks, for logs and for /healthz/clock. Without links, for which beat would load all URLs."""
    return [". ".join(_texts(name, is_off)) for name, is_off in periodic_runs.faults().items()]


def _periodic(name: str, is_disabled: bool) -> Words:
    return Words(*_texts(name, is_disabled), page("admin:django_celery_beat_periodictask_changelist"))


def _texts(name: str, is_disabled: bool) -> tuple[str, str]:
    summary = _("Read the logs of beat and of the workers.")
    if is_disabled:
        summary = _("It is disabled, so its work is not done. Enable it.")
    return _("The periodic task %(name)s does not run") % {"name": name}, summary


def broken_schedules() -> list[Problem]:
    """One problem for each of the newest reminders that cannot be read."""
    rows = query(_BROKEN, [_MOST])
    return [Problem(f"schedule:{row.id}", partial(_broken, row.id, row.error)) for row in rows]


def _broken(schedule_id: object, error: str) -> Words:
    summary = _("Its owner was told. %(error)s Id: %(id)s") % {"error": error, "id": schedule_id}
    return Words(_("A reminder cannot be read"), summary, page("admin:schedules_schedule_change", schedule_id))
