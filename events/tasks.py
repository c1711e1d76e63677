"""The Celery tasks. Their arguments are ids only, because they are logged."""

from __future__ import annotations

from events.kind import EVENT
from work.tasks import task_of

handle = task_of(EVENT)
