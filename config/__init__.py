"""The composition root: environment, settings, engines, Celery and URLs. Importing it tells tasks their app."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
