"""The Celery application.

Workers: `celery -A config worker -Q deliveries,bulk,maintenance`. Clock: `celery -A config beat`.
"""

from __future__ import annotations

import os

from celery import Celery

from config import pools  # noqa: F401 - connects its receiver
from config.plain_errors import speak_plainly

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
speak_plainly()  # every process of ours passes here: manage.py, web, worker, beat

app = Celery("carillon")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
