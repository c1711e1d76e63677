"""The bare task as Celery gives it to everybody: kombu's transport and Celery's settings, except for the broker."""

from __future__ import annotations

import os

import django
from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

django.setup()
TRANSPORT_ALIASES["redis"] = "kombu.transport.redis:Transport"
app = Celery("stock", broker=os.environ["BENCH_BROKER"], include=["bench.bare"])
# The prefix of the bench's keys.
app.config_from_object(
    {"worker_hijack_root_logger": False, "broker_transport_options": {"global_keyprefix": "carillon:"}}
)
