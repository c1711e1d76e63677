"""Environment, settings, engines, Celery and URLs."""

import gc

# Python's default, a collection for each 700 new objects, takes more time of pages: `script/bench pages`.
gc.set_threshold(20_000)
