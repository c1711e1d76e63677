"""A worker's pool of processes or threads, and its database connections, which must fit it.

Threads share a few connections: of their own, a thousand would each hold one. A forked process holds one for all its
tasks: a pool of one would be made and ended with each.
"""

from __future__ import annotations

import sys
from typing import Any

from celery import signals
from django.conf import settings


@signals.celeryd_after_setup.connect
def check(instance: Any, **_: Any) -> None:
    """End a worker, before it takes anything, whose connections do not fit its pool."""
    threads = instance.pool_cls.__module__.endswith(".thread")
    shared = "pool" in settings.DATABASES["default"]["OPTIONS"]
    if threads != shared:
        wish = "on: its threads share connections" if threads else "off: each of its processes keeps one connection"
        sys.exit(f"Carillon cannot start: with this --pool, a worker needs DATABASE_POOL={wish}")
