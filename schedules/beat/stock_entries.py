"""Periodic tasks of the stock loop: on the database's clock, and a damaged one is disabled alone."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from celery.schedules import maybe_schedule
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks
from django_celery_beat.schedulers import ModelEntry
from kombu.utils.json import dumps, loads

from common.texts.types import StrOrPromise
from schedules.firing import quarantine

_JSON: tuple[tuple[str, type, StrOrPromise], ...] = (
    ("args", list, gettext_lazy('Write a JSON list, such as [] or ["a", 1].')),
    ("kwargs", dict, gettext_lazy('Write a JSON object, such as {} or {"a": 1}.')),
    ("headers", dict, gettext_lazy("Write {}.")),
)
# Beat sends what is due more often than this without a pause, until Redis is full.
_SHORTEST_INTERVAL = timedelta(seconds=1)
# Before any run of anything.
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """The database's time for the stock loop: what the machine's clock shows, corrected. One a process."""

    _ahead = timedelta(0)

    @classmethod
    def now(cls) -> datetime:
        return datetime.now(UTC) + cls._ahead

    @classmethod
    def set(cls, now: datetime) -> bool:
        """Take `now` from the database; returns whether one of both clocks has been set meanwhile."""
        before, cls._ahead = cls._ahead, now - datetime.now(UTC)
        return abs(cls._ahead - before) > timedelta(seconds=1)


class Entry(ModelEntry):  # type: ignore[misc]  # django-celery-beat ships no types
    """An entry of the stock loop that is due by the database's clock."""

    def __init__(self, model: PeriodicTask, app: Any = None) -> None:
        super().__init__(model, app)
        zone = self.schedule.tz
        self.schedule.nowfun = lambda: Clock.now().astimezone(zone)

    def _default_now(self) -> datetime:
        return Clock.now()


def stored_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an entry of the settings; store its timing if it is new."""
    timing = maybe_schedule(fields["schedule"])
    values: dict[str, Any] = ModelEntry._unpack_options(**fields.get("options", {}))
    for kind, model, field in ModelEntry.model_schedules:
        values[f"{field}_id"] = None
        if isinstance(timing, kind):
            row = model.from_schedule(timing)
            if row.pk is None:
                row.save()
            values[f"{field}_id"] = row.pk
    return values | {
        "task": fields["task"],
        "args": dumps(fields.get("args", [])),
        "kwargs": dumps(fields.get("kwargs", {})),
    }


@transaction.atomic
def write(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write these columns of entries, by their names; another beat may do so at the same time."""
    PeriodicTask.objects.bulk_create(
        [PeriodicTask(name=name, **values) for name, values in entries.items()],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=[*set().union(*entries.values()), "date_changed"],
    )
    PeriodicTasks.update_changed()


def read(key: int, defined: Collection[str]) -> PeriodicTask:
    """The task, from whose last run the next one counts. Raises `Damaged` if beat could not run it.

    What never ran is due. Only a crontab that an operator has made begins with its next time.
    """
    task = PeriodicTask.objects.select_related("interval", "crontab", "clocked").get(pk=key)
    if task.last_run_at is None:
        begins = task.crontab_id is not None and task.name not in defined
        task.last_run_at = min(task.date_changed, Clock.now()) if begins else _NEVER
    check(task)
    return task


class Damaged(Exception):
    """A periodic task cannot run: `field` is wrong, and the message says what to write instead."""

    def __init__(self, field: str, message: StrOrPromise) -> None:
        super().__init__(str(message))
        self.field = field


def check(task: PeriodicTask) -> None:
    """Raise `Damaged` if beat could not run this task. Writes nothing."""
    for field, expected, remedy in _JSON:
        _check_json(field, getattr(task, field) or str(expected()), expected, remedy)
    if task.solar_id is not None:
        raise Damaged("solar", _("Solar timings are not supported. Choose an interval, a crontab or a clocked time."))
    timings = [name for name in ("interval", "crontab", "clocked") if getattr(task, f"{name}_id") is not None]
    if len(timings) != 1:
        raise Damaged("interval", _("Choose one of interval, crontab and clocked, and leave the others empty."))
    check_timing(getattr(task, timings[0]), timings[0])


def _check_json(field: str, text: str, expected: type, remedy: StrOrPromise) -> None:
    try:
        value = loads(text)
    except Exception as error:  # kombu builds objects from some JSON, and fails as they do
        raise Damaged(field, _("This is not readable JSON. %(remedy)s") % {"remedy": remedy}) from error
    if not isinstance(value, expected):
        raise Damaged(field, remedy)
    if field == "headers" and value:
        # {"timelimit": 5} ends every worker that reads the message, and the message comes back.
        raise Damaged(field, _("Headers of messages are instructions to Celery. %(remedy)s") % {"remedy": remedy})


def check_timing(timing: Any, field: str) -> None:
    """Raise `Damaged` if no next run can be computed from an interval, a crontab or a clocked time."""
    try:
        timing.schedule.is_due(timezone.now())
    except Exception as error:
        raise Damaged(
            field,
            _("No next run can be computed from it (%(name)s). Choose another timing.")
            % {"name": type(error).__name__},
        ) from error
    if isinstance(timing, IntervalSchedule) and timing.schedule.run_every < _SHORTEST_INTERVAL:
        raise Damaged(field, _("This is too often: once a second is the most."))


def disable(key: int, error: BaseException) -> None:
    """Disable a periodic task without reading it; its description says why."""
    reason = Value(f"Disabled by beat. {described(error)}\n\n")
    PeriodicTask.objects.filter(pk=key).update(enabled=False, description=Concat(reason, F("description")))
    PeriodicTasks.update_changed()


def restore(name: str, defined: Mapping[str, Any]) -> None:
    """Give one of Carillon's own periodic tasks the definition that it has in the settings."""
    unset = {"last_run_at": None, "start_time": None, "expires": None, "one_off": False}
    write({name: unset | stored_columns(defined)})


def described(error: BaseException) -> str:
    return f"{error.field}: {error}" if isinstance(error, Damaged) else quarantine.describe(error)
