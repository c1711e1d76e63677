"""The Celery application, which every process imports: manage.py, web, workers and beats.

Workers: `celery -A config --quiet worker -Q deliveries,events,jobs,bulk,maintenance`, with threads or `--pool prefork`.
Clock: `celery -A config --quiet beat`.
"""

import gc
import logging.config
import os
import sys
import threading
import warnings
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any

from celery import Celery, platforms, signals
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.utils import NotSupportedError, OperationalError

from common import probe
from work.broker import rabbitmq, transport
from work.broker.watchdog import Watchdog


def _report_in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report a wrong setup in one line, without a traceback."""
    if isinstance(error, ImproperlyConfigured):
        sys.stderr.write(f"Carillon cannot start: {error}\n")
    elif isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") is None:
        # Without a state there was no session: the server was not reached, or it refused the connection.
        reason = str(error).strip().splitlines()[0]
        sys.stderr.write(f"Carillon cannot start: cannot connect to PostgreSQL ({reason}). Check DATABASE_URL.\n")
    elif isinstance(error, NotSupportedError) and not error.__cause__:  # Django's check of the server's version
        sys.stderr.write(f"Carillon cannot start: {error} Check DATABASE_URL.\n")
    else:
        sys.__excepthook__(kind, error, trace)


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # they import the admin and the API; `migrate` runs them
sys.excepthook = _report_in_one_line
# As root, Celery warns of pickle, which is not used here.
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")


class Application(Celery):
    @cached_property
    def Beat(self) -> Any:
        name: Any = "celery.apps.beat:Beat"
        return self.subclass_with_self(name, install_sync_handler=_end_at_signals)


def _end_at_signals(beat: object, service: Any) -> None:
    """End beat at SIGTERM and SIGINT. Celery's handlers also save the schedule, of which nothing is unsaved here.

    While a statement runs, they would wait for ever for the connection that it uses.
    """

    is_ending = False

    def end(*_: object) -> None:
        nonlocal is_ending
        if not is_ending:  # a second signal would wait for the lock that the first one holds
            is_ending = True
            service.stop()  # before the next tick, should the exception be lost, as in an import of lxml
        raise SystemExit

    platforms.signals.update(SIGTERM=end, SIGINT=end)


transport.install()
rabbitmq.install()
app = Application("carillon")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["consumer"].add("common.redis.served_queues:Announcement")


@signals.setup_logging.connect
def configure_logging(loglevel: int, **_: Any) -> None:
    """Log as every other process does: Celery's own default would drop a worker's line for each try.

    A level on the command line wins over LOG_LEVEL.
    """
    logging.config.dictConfig(settings.LOGGING)
    if any(word.startswith(("-l", "--loglevel")) for word in sys.argv):
        logging.getLogger().setLevel(loglevel)
    if settings.LOG_FORMAT == "json" or sys.stdout is not sys.__stdout__:
        # A worker that stops writes there, unless it is None: neither as JSON nor with the label of `script/server`.
        setattr(sys, "__stdout__", None)  # noqa: B010 - it is final to mypy


@signals.celeryd_init.connect
@signals.beat_init.connect
def leave_out_pages(**_: Any) -> None:
    """Import neither the admin's pages nor the API in a worker or beat, which only write links."""
    if settings.ROOT_URLCONF not in sys.modules:  # a fork of `script/server` has them
        settings.ROOT_URLCONF = "config.page_urls"


@signals.celeryd_init.connect
def begin_worker(**_: Any) -> None:
    probe.note("worker", waits_for="its start")


@signals.celeryd_after_setup.connect
def check_pool(instance: Any, **_: Any) -> None:
    """Watch a worker with threads, and stop one at its start if DATABASE_POOL does not fit its pool.

    Threads must share connections: a thousand threads would hold a thousand. A process keeps one for all its tasks.
    """
    threads = instance.pool_cls.__module__.endswith(".thread")
    shared = "pool" in settings.DATABASES["default"]["OPTIONS"]
    if threads != shared:
        value = "on: its threads share connections" if threads else "off: each of its processes keeps one connection"
        sys.exit(f"Carillon cannot start: with this --pool, a worker needs DATABASE_POOL={value}")
    if threads:
        transport.QoS.most_busy = transport.BUSY
        Watchdog(instance.time_limit, instance.max_memory_per_child)


@signals.celeryd_after_setup.connect
@signals.beat_init.connect
def check_engines(**_: Any) -> None:
    """Stop a worker or beat at its start that could only fail. A receiver's other exceptions are only logged."""
    from config import startup

    try:
        startup.check()
    except ImproperlyConfigured as error:
        sys.exit(f"Carillon cannot start: {error}")


@signals.worker_ready.connect
def end_threads_at_signals(sender: Any = None, **_: Any) -> None:
    """SIGQUIT may come while this thread hands a task to another one: without this, the pool would wait for itself."""
    if executor := getattr(sender.pool, "executor", None):
        executor._shutdown_lock = threading.RLock()


@signals.worker_ready.connect
def tell_operators(sender: Any = None, **_: Any) -> None:
    """Notice problems, in a worker with threads: a process of the other pool would fork beside this thread."""
    if "pool" in settings.DATABASES["default"]["OPTIONS"]:
        from config import operator_alerts

        operator_alerts.OperatorAlerts()


@signals.celeryd_after_setup.connect
def spare_cpu(**_: Any) -> None:
    """Search less for garbage, and change less often between threads: `script/bench deliver`."""
    gc.collect()
    gc.freeze()  # what was imported is never garbage
    # A thread that is woken does not interrupt the one that runs, which has the interpreter. Beat and the web process
    # interrupt a worker as before.
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_OTHER:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
