"""The scheduler of celery-beat: django-celery-beat's, which also fires our schedules from their index.

It keeps no state: due schedules are found in the database, so any number of beats may run, and a crash loses nothing.
Entries of the stock loop are claimed in their row, so several beats send each of them once.
"""

import gc
import logging
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from celery.beat import SchedulingError
from celery.utils.log import get_logger
from django.db import Error, close_old_connections, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Least, Now
from django_celery_beat.schedulers import DatabaseScheduler
from kombu.exceptions import OperationalError
from redis.exceptions import ResponseError

from common import probe
from common.database.postgres import blames_no_row
from common.redis import served_queues
from schedules.beat import problems, stock_entries, zone_updates
from schedules.beat.heartbeat import HeartbeatWriter
from schedules.firing import early_messages, fire
from schedules.parts import mirror
from work.broker import periodic

log = get_logger(__name__)

# A schedule made just now fires within this many seconds of its slot.
LONGEST_SLEEP = 1.0
# Seconds between two polls while another beat holds what is due.
WHILE_LOCKED = 0.01
# Seconds before the broker is tried again. Connecting to one that does not answer takes seconds by itself.
BROKER_RETRY = 5.0
# Seconds of each tick for entries of the stock loop.
_STOCK = 0.1
# Seconds after which an idle task is sent, so that one that no worker runs shows within the time of `periodic_runs`.
_AT_LEAST = 45.0
# Seconds for which an answer of the database serves further entries.
_FRESH = 2.0
LOG_SECONDS = 60.0
_BROKER_AWAY = (OperationalError, OSError, ResponseError)
EACH_TICK: list[Callable[[], object]] = []
"""Functions of other apps, called at each tick."""


class BeatLog:
    """A summary once a minute, and each kind of warning at most once a minute."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._warned: dict[str, float] = {}
        self._begin()

    def _begin(self) -> None:
        self._ends = time.monotonic() + LOG_SECONDS
        self._polls = self._fired = self._sent = 0
        self._latest = 0.0

    def count_poll(self, fired: int = 0, late: float = 0.0) -> None:
        """One query for due schedules, which fired `fired` of them, the oldest `late` seconds after its slot."""
        self._polls += 1
        self._fired += fired
        if fired:
            self._latest = max(self._latest, late)

    def count_sent(self) -> None:
        self._sent += 1

    def write_summary(self) -> None:
        """Nothing before the minute is over. Beat says what workers cannot: that a queue has none, or a task no run."""
        if time.monotonic() < self._ends:
            return
        self._log.info(
            "In the last minute: %d schedules fired, at most %.3f s late; %d stock entries sent; %d polls",
            self._fired,
            self._latest,
            self._sent,
            self._polls,
        )
        if missing := served_queues.unserved():
            self._log.error(served_queues.warning(missing))
        for problem in problems.sentences():
            self._log.error(problem)
        self._begin()

    def warn(self, what: str, error: Exception) -> None:
        """Once a minute for the same `what`."""
        if time.monotonic() >= self._warned.get(what, 0.0):
            self._warned[what] = time.monotonic() + LOG_SECONDS
            self._log.warning("%s: %s", what, str(error).strip().partition("\n")[0])


class IdleTasks:
    """Periodic tasks that have nothing to do are sent less often."""

    def __init__(self) -> None:
        self._needed: set[str] = set()
        self._read_at = float("-inf")
        self._sent_at: dict[str, float] = {}

    def rests(self, entry: Any) -> bool:
        """Whether this entry, which is due, is not sent now. Raises django.db.Error if the database is away."""
        now = time.monotonic()
        if entry.task in periodic.NEEDED and now < self._sent_at.get(entry.name, float("-inf")) + _AT_LEAST:
            if now > self._read_at + _FRESH:
                self._needed, self._read_at = periodic.needed(), now
            if entry.task not in self._needed:
                return True
        self._sent_at[entry.name] = now
        return False


class Scheduler(DatabaseScheduler):  # type: ignore[misc]  # django-celery-beat ships no types
    """`celery beat --scheduler schedules.beat.scheduler:Scheduler`."""

    Entry = stock_entries.Entry
    _changed_at: datetime | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._heartbeat = HeartbeatWriter()
        self._log = BeatLog(log)
        self._broker_retry_at = 0.0
        self._entries_changed: datetime | None = None
        self._idle = IdleTasks()
        self._zone_updates = zone_updates.recompute_changed()
        self._is_set_up = False
        log.info("Zones are read from %s", zone_updates.source())
        super().__init__(*args, **kwargs)
        # Objects that are loaded by now stay, so none is searched for garbage at each firing (`script/bench fire`).
        gc.freeze()

    def setup_schedule(self) -> None:
        """Read the stock entries. If the database is away or not migrated, log it; each tick tries again."""
        # Does not wait: meanwhile Celery's SIGTERM handler would make a second scheduler.
        try:
            self._set_up()
        except Error as error:
            self._database_away(error)

    def _set_up(self) -> None:
        clock = fire.read_clock()
        stock_entries.Clock.set(clock.now)
        self._entries_changed = clock.entries_changed
        super().setup_schedule()
        self._is_set_up = True

    def update_from_dict(self, mapping: Mapping[str, Any]) -> None:
        """Write the entries that differ from the settings. The stock method writes all, by twenty statements each."""
        defined = {name: stock_entries.stored_columns(fields) for name, fields in mapping.items()}
        rows = self.Model.objects.filter(name__in=mapping).values("name", *set().union(*defined.values()))
        stored = {row.pop("name"): row for row in rows}
        if changed := {name: values for name, values in defined.items() if stored.get(name) != values}:
            stock_entries.write(changed)
            self._reload()

    def enabled_models_qs(self) -> QuerySet[Any]:
        """The periodic tasks of the stock loop: not those of schedules, which it would compare one by one.

        The stock query also leaves out crontabs whose hour is not near, by zone offsets of 2023. We do not.
        """
        return self.Model.objects.filter(enabled=True).exclude(task=mirror.FIRE)

    def all_as_schedule(self) -> dict[str, Any]:
        """The entries of the stock loop, each read alone: a damaged one is disabled."""
        entries = {}
        # A last run in the future: no clock stops what is due until that time comes.
        self.enabled_models_qs().filter(last_run_at__gt=Now()).update(last_run_at=Now())
        for key, name in self.enabled_models_qs().values_list("pk", "name"):
            try:
                entries[name] = self.Entry(stock_entries.read(key, self.app.conf.beat_schedule), app=self.app)
            except self.Model.DoesNotExist:
                continue
            except Exception as error:
                self._disable(key, name, error)
        return entries

    def _disable(self, key: int, name: str, error: BaseException) -> None:
        """Disable an entry that cannot run, or restore it if the settings define it."""
        if isinstance(error, Exception) and blames_no_row(error):
            raise error
        log.error("The periodic task %r cannot run: %s", name, stock_entries.described(error))
        if (defined := self.app.conf.beat_schedule.get(name)) is not None:
            stock_entries.restore(name, defined)
        else:
            stock_entries.disable(key, error)

    def _is_due_failed(self, entry: Any) -> tuple[bool, float]:
        """Called by the stock loop while it handles the error, which it would log at every tick."""
        error = sys.exc_info()[1]
        assert error is not None  # noqa: S101 - see above
        self._disable(entry.model.pk, entry.name, error)
        entry.model.enabled = False
        return False, self.max_interval

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Fire what is due; returns the seconds until the next poll, at most `LONGEST_SLEEP`."""
        probe.note("beat")
        try:
            if not self._is_set_up:
                self._set_up()
            self._isolated(self._recompute_slots, "Next slots cannot be recomputed with the new zone data")
            for step in EACH_TICK:
                self._isolated(step, f"{step.__module__} failed")
            wait = self._fire_due()
            polled = time.monotonic()
            stock = self._stock_tick(*args, **kwargs)
        except Error as error:
            # The database is away or has ended our connection: the slots stay due, and the next tick polls again.
            self._database_away(error)
            return LONGEST_SLEEP
        self._log.write_summary()
        # Subtract the time that the stock loop took.
        return max(0.0, min(wait - (time.monotonic() - polled), stock))

    def _isolated(self, work: Callable[[], object], warning: str) -> None:
        """Do `work`, and log its error: it must not keep the schedules from firing."""
        try:
            work()
        except Exception as error:
            if blames_no_row(error):
                raise
            self._log.warn(warning, error)

    def _fire_due(self) -> float:
        """One batch of slots and one of early messages, so that stock entries are not starved; 0: there may be more."""
        clock = fire.read_clock()
        self._entries_changed = clock.entries_changed
        if stock_entries.Clock.set(clock.now):
            self._reload()
        if (left := clock.seconds_to_next) is None or left > 0:
            self._log.count_poll()
            self._heartbeat.count(0)
            return LONGEST_SLEEP if left is None else min(left, LONGEST_SLEEP)
        fired = fire.fire_due(clock.now)
        sent = early_messages.send_due(clock.now)
        self._log.count_poll(fired, late=-left)
        self._heartbeat.count(fired)
        return 0.0 if fired or sent else WHILE_LOCKED

    def _recompute_slots(self) -> None:
        """One batch a tick: the schedules whose zone data has changed."""
        for moved in next(self._zone_updates, []):
            log.warning("The zone database moves schedule %s from %s to %s", *moved)

    def _stock_tick(self, *args: Any, **kwargs: Any) -> float:
        """Run the stock loop. If the broker is away, its entries wait; schedules fire on."""
        if time.monotonic() < self._broker_retry_at:
            return LONGEST_SLEEP
        ends = time.monotonic() + _STOCK
        try:
            while not (wait := super().tick(*args, **kwargs)) and time.monotonic() < ends:
                pass
            # Those of nearly the same time share a tick: none ends a sleep.
            return LONGEST_SLEEP if wait else 0.0
        except Error:
            raise
        except Exception as error:
            away = isinstance(error, (*_BROKER_AWAY, SchedulingError))
            what = "The broker is away" if away else "The stock loop has failed"
            self._log.warn(f"{what}; entries of the stock loop wait", error)
            self._broker_retry_at = time.monotonic() + BROKER_RETRY
            self._reload()
            self.__dict__.pop("producer", None)
            if (connection := self.__dict__.pop("connection", None)) is not None:
                connection.release()
            return LONGEST_SLEEP

    def schedule_changed(self) -> bool:
        """As the last poll has read it. The stock method asks for each entry, and checks the connection first."""
        before, self._changed_at = self._changed_at, self._entries_changed
        return bool(before and self._changed_at and self._changed_at > before)

    def reserve(self, entry: Any) -> Any:
        """The entry after this run. The stock method also saves the run minutes later, even if nothing was sent."""
        return next(entry)

    def should_sync(self) -> bool:
        """Never: nothing is left to save, and the stock method closes the connection within a claim's transaction."""
        return False

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send an entry of the stock loop, unless another beat has, and record its run in the same transaction.

        Raises SchedulingError if the broker did not take it: the entry is due again. If no broker would take it, it is
        disabled.
        """
        if self._idle.rests(entry):
            return
        try:
            self._claim_and_send(entry, producer)
        except SchedulingError as error:
            cause = error.__context__
            if cause is None or isinstance(cause, (*_BROKER_AWAY, *self.connection.connection_errors)):
                raise
            self._disable(entry.model.pk, entry.name, cause)

    def _claim_and_send(self, entry: Any, producer: Any) -> None:
        entry.options.setdefault("retry", False)
        if (seconds := entry.model.expire_seconds) is not None:
            entry.options["expires"] = stock_entries.Clock.now() + timedelta(seconds=seconds)
        run_at = entry.model.last_run_at  # the stock loop has advanced the model, not the entry
        with transaction.atomic():
            unclaimed = Q(last_run_at=None) | Q(last_run_at__lte=entry.last_run_at)
            rows = self.Model.objects.filter(unclaimed, id=entry.model.id, enabled=True)
            run = {"last_run_at": Least(run_at, Now()), "total_run_count": F("total_run_count") + 1}
            # The stock loop ends a one-off task so, but minutes later. Without a last run, it can be enabled again.
            ended = {"enabled": False, "last_run_at": None, "total_run_count": 0, "date_changed": Now()}
            if rows.update(**ended if entry.model.one_off else run):
                self.apply_async(entry, producer=producer, advance=False)
                self._log.count_sent()

    def _ensure_connected(self) -> Any:
        # The stock method retries for ever, and nothing would fire meanwhile.
        return self.connection.ensure_connection(max_retries=0)

    def _reload(self) -> None:
        """Reload all entries: the stock loop marks an entry as run before it has sent it."""
        self._initial_read, self._heap = True, None

    def _database_away(self, error: Error) -> None:
        self._log.warn("Schedules cannot be read or written", error)
        self._reload()
        self._zone_updates = zone_updates.recompute_changed()
        close_old_connections()
