"""Environment, settings, engines, Celery and URLs. Importing it gives shared tasks their app."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
