"""The product's settings, with the app of django-tasks beside them."""

from config.settings import *  # noqa: F403

INSTALLED_APPS += ["django_tasks", "django_tasks_db"]  # noqa: F405
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["peer"]}}
