"""Environment, settings, engines, Celery and URLs."""

import gc

# A collection for each 700 new objects takes more of pages' time: `script/bench pages`.
gc.set_threshold(20_000)
