"""Celery with its own transport and default settings: `publish N`. With BENCH_RESULTS, states in the database too."""

from __future__ import annotations

import os
import sys

import django
from celery import Celery, group
from kombu.transport import TRANSPORT_ALIASES

django.setup()
TRANSPORT_ALIASES["redis"] = "kombu.transport.redis:Transport"  # not ours

results = bool(os.environ.get("BENCH_RESULTS"))
app = Celery("peer", broker=os.environ["BENCH_BROKER"], set_as_current=False)
app.conf.update(
    task_default_queue="peer-results" if results else "peer",
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)
if results:
    app.conf.update(result_backend="django-db", task_track_started=True)


@app.task(name="peer.post", ignore_result=not results)
def post() -> None:
    from bench.peers.request import post

    post()


if __name__ == "__main__":
    signature = post.s()
    group(signature for _ in range(int(sys.argv[2]))).apply_async()
