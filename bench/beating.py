"""`python -m bench.beating ours | stock | worker`: a beat, or a worker for what the stock one sends, on own queues."""

from __future__ import annotations

import sys

from bench.ground import seat

STOCK = "django_celery_beat.schedulers:DatabaseScheduler"


def main() -> None:
    app = seat()
    if sys.argv[1] == "worker":
        app.Worker(queues="maintenance", pool="solo", loglevel="ERROR", quiet=True, without_gossip=True).start()
    else:
        kind = {"stock": STOCK}.get(sys.argv[1], app.conf.beat_scheduler)
        app.Beat(quiet=True, loglevel="WARNING", pidfile=None, scheduler_cls=kind).run()


if __name__ == "__main__":
    main()
