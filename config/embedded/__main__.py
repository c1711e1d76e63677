"""`python -m config.embedded keep ENGINE LOCK`: `embedded.urls()` starts it; LOCK is a descriptor."""

from __future__ import annotations

import os
import sys

from config.embedded.keeper import Keeper
from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.var import var_dir

_command, name, lock = sys.argv[1:]
os.set_inheritable(int(lock), False)  # the engine must not hold its keeper's lock
sys.exit(Keeper({"postgres": Postgres, "redis": Redis}[name](var_dir())).keep())
