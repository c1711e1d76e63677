"""What Carillon changes in Celery's worker and beat."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import SimpleNamespace

from celery.beat import Service
from celery.concurrency.thread import TaskPool

from config.celery import app, end_threads_at_signals


def test_a_pool_can_be_stopped_by_a_signal_that_comes_while_it_takes_a_task() -> None:
    pool = TaskPool(1)
    assert isinstance(pool.executor._shutdown_lock, type(threading.Lock()))  # of Python: as it was read
    end_threads_at_signals(SimpleNamespace(pool=pool))
    pool.executor._adjust_thread_count = pool.on_stop  # type: ignore[method-assign]  # as the signal's handler does there
    thread = threading.Thread(target=pool.on_apply, args=(print,), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_each_periodic_task_takes_the_arguments_with_which_beat_sends_it() -> None:
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        app.tasks[entry["task"]].__header__(*entry.get("args", ()))  # `apply_async` calls it first


def test_beat_ends_at_a_signal_whose_exception_is_lost() -> None:
    """As one is that a module in C drops while it is imported."""
    ticks = []

    class Scheduler:
        max_interval = 0.0

        def tick(self) -> float:
            ticks.append(None)
            assert len(ticks) == 1, "it goes on"
            with suppress(SystemExit):
                os.kill(os.getpid(), signal.SIGTERM)
                os.kill(os.getpid(), signal.SIGINT)
            return 0.0

        def close(self) -> None:
            pass

    service = Service(app)
    service.scheduler = Scheduler()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        app.Beat(quiet=True).install_sync_handler(service)
        service.start()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
