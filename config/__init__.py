"""Environment, settings, engines, Celery and URLs. Importing it gives shared tasks their app."""

import gc

# A start makes 380,000 objects that stay: a collection for each 700 of them took an eighth of its time.
gc.set_threshold(20_000)

from config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
