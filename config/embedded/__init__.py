"""Embedded engines: PostgreSQL 18 and Redis from wheels, in `var/`, if DATABASE_URL or REDIS_URL is not set.

Kernel locks decide who runs, so a `kill -9` of any process leaves nothing stale:

- Each process that uses an engine holds a shared lock on `var/<engine>/users`.
- One detached keeper per engine holds a lock on `var/<engine>/keeper`. It starts the engine, restarts it when it
  dies, and stops it when nobody has held `users` for a few seconds (see `keeper.py`).

An engine whose keeper was killed keeps running. The next process that needs it starts a keeper that adopts it.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from config.embedded.engine import Engine, EngineFailed as EngineFailed
from config.embedded.locks import exclusive, is_free, shared
from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.var import CHECKOUT, close_var, say, stored_text as stored_text, var_dir as var_dir

_READY_WITHIN = 120.0  # seconds: crash recovery of a large database is slow
_used: dict[Path, tuple[Engine, int]] = {}  # by `home`, with the descriptors that hold the locks `users`


def urls(database_url: str = "", redis_url: str = "") -> tuple[str, str]:
    """The given URLs, and for each empty one that of an embedded engine, which is started.

    The engines run as long as this process and its forks. Makes `var/` private first. Raises EngineFailed with a
    message of one line if an engine is not installed or does not start.
    """
    close_var()
    var = var_dir()
    engines: list[Engine] = []
    if not database_url:
        engines.append(Postgres(var))
    if not redis_url:
        engines.append(Redis(var))
    try:
        _bring_up(*engines)  # all of them first, to start in parallel
        ready = {engine.name: _when_ready(engine) for engine in engines}
    except OSError as error:
        if not error.filename:
            raise
        raise EngineFailed(
            f"{error.filename} cannot be used by this user ({error.strerror}): "
            "start Carillon as the user who started it here first, or set CARILLON_VAR to your own directory"
        ) from error
    return database_url or ready["postgres"], redis_url or ready["redis"]


def postgres_programs() -> str:
    """The folder with pg_dump and pg_restore of the embedded PostgreSQL."""
    return str(Postgres(var_dir()).locate().parent)


def look_after() -> None:
    """Start a new keeper for each engine in use whose keeper was killed."""
    for engine, _users in list(_used.values()):
        if is_free(engine.home / "keeper"):
            _bring_up(engine)


def leave() -> None:
    """Stop using the engines. Stop those that nobody else uses, and wait up to 30 s for it."""
    stopping: list[tuple[Path, int]] = []
    while _used:
        _home, (engine, users) = _used.popitem()
        os.close(users)
        if (alone := exclusive(engine.home / "users")) is None:
            continue
        # The lock is kept meanwhile: a new user waits, then starts the engine again.
        stopping.append((engine.home / "keeper", alone))
        keeper = (engine.home / "keeper").read_text()
        if keeper and not is_free(engine.home / "keeper"):
            os.kill(int(keeper), signal.SIGTERM)
    deadline = time.monotonic() + 30
    for keeper_lock, alone in stopping:
        while not is_free(keeper_lock) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.close(alone)


def _bring_up(*engines: Engine) -> bool:
    """Register this process as a user, and start keepers where there are none; return whether one was started."""
    locks: dict[Engine, int] = {}
    try:
        for engine in engines:
            engine.locate()
            engine.home.mkdir(parents=True, exist_ok=True)
            if engine.home not in _used:
                # Waits only while a keeper stops the engine: it holds the lock until then.
                _used[engine.home] = engine, shared(engine.home / "users", within=60.0)
            if (lock := exclusive(engine.home / "keeper")) is None:
                continue
            locks[engine] = lock
            engine.failure.unlink(missing_ok=True)
            if engine.running_pid() is None:
                say(f"Starting {engine.title} in {_short(engine.home)} …")
            engine.prepare()
        if locks:
            _start_keepers(locks)
    finally:
        for lock in locks.values():
            os.close(lock)
    return bool(locks)


def _start_keepers(locks: dict[Engine, int]) -> None:
    """Start keepers that inherit these locks, so that each lock always has a holder."""
    for engine in locks:
        with suppress(FileNotFoundError):
            engine.log.replace(engine.home / "log.1")
    with engine.log.open("ab") as log:
        subprocess.run(
            [sys.executable, "-m", "config.embedded.keeper", *(f"{one.name}={lock}" for one, lock in locks.items())],
            cwd=CHECKOUT,
            env={**os.environ, "CARILLON_VAR": str(engine.home.parent)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=locks.values(),
            start_new_session=True,
            check=False,  # `_when_ready` finds that there is no keeper
        )


def _when_ready(engine: Engine) -> str:
    deadline = time.monotonic() + _READY_WITHIN
    started = 0
    while time.monotonic() < deadline:
        if is_free(engine.home / "keeper"):
            # No keeper: ours gave up, or another one has just stopped or was killed.
            if engine.failure.exists() or started == 2:
                break
            started += _bring_up(engine)
        if engine.answers():
            return engine.url
        time.sleep(0.02)
    raise EngineFailed(f"{engine.title} does not start in {_short(engine.home)}: {engine.failure_reason()}")


def _short(path: Path) -> str:
    return str(path.relative_to(CHECKOUT)) if path.is_relative_to(CHECKOUT) else str(path)
