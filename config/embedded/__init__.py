"""Real engines of our own, for a machine that has none: PostgreSQL 18 and Redis, from wheels, in `var/`.

Only where DATABASE_URL or REDIS_URL is not given. Life and death hang on kernel locks, so that a `kill -9` of
anything leaves nothing stale:

- each process that uses an engine holds a shared lock on `var/<engine>/users` until it ends;
- one detached keeper an engine holds `var/<engine>/keeper`, starts the engine, restarts it when it dies, and
  stops it when nobody has held `users` for a few seconds (see `keeper.py`).

An engine whose keeper was killed goes on; the next process that asks for it brings a keeper that adopts it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from config.embedded.engine import Engine, EngineFailed
from config.embedded.locks import exclusive, is_free, shared
from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.secrets import kept_fernet_key, kept_secret
from config.embedded.var import CHECKOUT, close_var, var_dir

__all__ = ["EngineFailed", "kept_fernet_key", "kept_secret", "leave", "look_after", "urls", "var_dir"]

_READY_WITHIN = 120.0  # seconds: recovery after a crash of a large database takes its time
_used: dict[Engine, int] = {}  # the descriptors that hold the users' locks


def urls(database_url: str = "", redis_url: str = "") -> tuple[str, str]:
    """The URLs to use: those given, and for each empty one that of an engine of our own, which now runs.

    `var/` is made private first. The engines stay up for the life of this process and of its forks. Raises
    EngineFailed, whose message is one line, when an engine is not installed or does not start.
    """
    close_var()
    var = var_dir()
    engines: list[Engine] = []
    if not database_url:
        engines.append(Postgres(var))
    if not redis_url:
        engines.append(Redis(var))
    try:
        for engine in engines:
            _bring_up(engine)  # all of them first: they start side by side
        ready = {engine.name: _when_ready(engine) for engine in engines}
    except OSError as error:
        if not error.filename:
            raise
        raise EngineFailed(
            f"{error.filename} cannot be used by this user ({error.strerror}): "
            "start Carillon as the user who started it here first, or set CARILLON_VAR to your own directory"
        ) from error
    return database_url or ready["postgres"], redis_url or ready["redis"]


def look_after() -> None:
    """Bring a new keeper to each engine in use whose keeper was killed; for whoever lives as long as the engines."""
    for engine in list(_used):
        _bring_up(engine)


def leave() -> None:
    """Stop using the engines. Where nobody else does, stop them now and wait for it (30 s at the most)."""
    stopping: list[tuple[Path, int]] = []
    while _used:
        engine, users = _used.popitem()
        os.close(users)
        alone = exclusive(engine.home / "users")
        if alone is None:
            continue
        # The lock is kept meanwhile: a newcomer waits and then starts the engine afresh.
        stopping.append((engine.home / "keeper", alone))
        keeper = (engine.home / "keeper").read_text()
        if keeper and not is_free(engine.home / "keeper"):
            os.kill(int(keeper), signal.SIGTERM)
    deadline = time.monotonic() + 30
    for keeper_lock, alone in stopping:
        while not is_free(keeper_lock) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.close(alone)


def _bring_up(engine: Engine) -> bool:
    """Count this process as a user and see that the engine has a keeper; True where we brought one."""
    engine.locate()
    engine.home.mkdir(parents=True, exist_ok=True)
    if engine not in _used:
        # Waits only while a keeper is stopping the engine; it holds the lock for as long as that takes.
        _used[engine] = shared(engine.home / "users", within=60.0)
    lock = exclusive(engine.home / "keeper")
    if lock is None:
        return False
    try:
        engine.failure.unlink(missing_ok=True)
        if engine.running_pid() is None:
            _say(f"Starting {engine.title} in {_short(engine.home)} …")
        engine.prepare(_say)
        _spawn_keeper(engine, lock)
    finally:
        os.close(lock)
    return True


def _spawn_keeper(engine: Engine, lock: int) -> None:
    """The keeper inherits the lock that we took for it, so there is no moment without a holder."""
    engine.turn_log()
    with engine.log.open("ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "config.embedded", "keep", engine.name, str(lock)],
            cwd=CHECKOUT,
            env={**os.environ, "CARILLON_VAR": str(engine.home.parent)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[lock],
            start_new_session=True,
        )
    keeper.returncode = 0  # it outlives us on purpose: no ResourceWarning about a child still running
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(keeper.pid).encode(), 0)


def _when_ready(engine: Engine) -> str:
    deadline = time.monotonic() + _READY_WITHIN
    brought = 0
    while time.monotonic() < deadline:
        if is_free(engine.home / "keeper"):
            # Nobody keeps it: our keeper gave up, or the one we counted on was leaving or was killed.
            if engine.failure.exists() or brought == 2:
                break
            brought += _bring_up(engine)
        url = engine.url()
        if url and engine.answers():
            return url
        time.sleep(0.02)
    raise EngineFailed(f"{engine.title} does not start in {_short(engine.home)}: {engine.last_words()}")


def _short(path: Path) -> str:
    return str(path.relative_to(CHECKOUT)) if path.is_relative_to(CHECKOUT) else str(path)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
