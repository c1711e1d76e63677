"""Settings of the harness: those of production with shorter times."""

from __future__ import annotations

import os

from config.settings import *  # noqa: F403
from config.settings import CELERY_BEAT_SCHEDULE, INSTALLED_APPS

INSTALLED_APPS += ["bench.faults.apps.FaultsConfig"]
ALLOWED_NETWORKS = ["127.0.0.0/8"]
WEBHOOKS_PER_SECOND = 0  # all to one host
if os.environ.get("FAULTS_QUOTAS") != "on":  # ten thousand for a few people
    EVENTS_PER_PERSON_PER_MINUTE = EVENTS_PER_PERSON_PER_DAY = EVENT_MEGABYTES_PER_PERSON_PER_DAY = 0
    SENDS_PER_PERSON_PER_DAY = API_REQUESTS_PER_MINUTE = 0
SENDS_AT_ONCE = {"": 32}  # so many that workers share commits

# Lease of production: 90 s. The order of the budgets is kept: deadline < soft < hard < lease.
_LEASE = int(os.environ.get("FAULTS_LEASE", "5"))
CELERY_TASK_TIME_LIMIT = int(os.environ.get("FAULTS_HARD_LIMIT", _LEASE - 1))
CELERY_TASK_SOFT_TIME_LIMIT = CELERY_TASK_TIME_LIMIT - 1
CELERY_BEAT_SCHEDULE["rescue"]["schedule"] = 1.0
