"""The process that starts one engine, restarts it when it dies, and stops it when it has no users.

`python -m config.embedded.keeper ENGINE=LOCK …` leaves one for each engine behind; LOCK is an inherited descriptor.
`embedded.urls()` starts it.
"""

import os
import select
import signal
import subprocess
import sys
import time

from config.embedded.engine import Engine, EngineFailed
from config.embedded.locks import exclusive
from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.var import say, var_dir

_GRACE = 3.0  # seconds without a user, so that the engine survives between two commands
_POLL_EVERY = 1.0
_STOPS_WITHIN = 20.0
_TRIES = 5


class Keeper:
    """Keeps `engine` running until its last user has left. The caller holds the lock `keeper`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.child: subprocess.Popen[bytes] | None = None
        self.must_stop = self.has_answered = False
        self.tries = 0

    def keep(self) -> int:
        """Return the exit status: 0 after a clean stop, 1 if the engine does not start."""
        signal.signal(signal.SIGTERM, self._ask_to_stop)
        signal.signal(signal.SIGINT, self._ask_to_stop)
        woken = _waking_pipe()
        users: int | None = None
        used_at = time.monotonic()
        while not self.must_stop:
            # Adopt a server whose keeper was killed, even if it answers slowly: two servers would damage the data.
            if not self._runs():
                try:
                    self._launch()
                except EngineFailed as failed:
                    if not self.has_answered:  # else its users still wait for it
                        self.engine.failure.write_text(str(failed))
                        return 1
            if select.select([woken], [], [], _POLL_EVERY)[0]:
                os.read(woken, 512)
            self.has_answered = self.has_answered or self.engine.answers()
            if (users := exclusive(self.engine.home / "users")) is None:
                used_at = time.monotonic()
            elif time.monotonic() - used_at > _GRACE:
                break  # the lock is kept: a new user waits until the engine has stopped
            else:
                os.close(users)
        self._stop()
        return 0

    def _ask_to_stop(self, *_: object) -> None:
        self.must_stop = True

    def _launch(self) -> None:
        """Raises EngineFailed where it has died several times and never answered."""
        if self.tries == _TRIES and not self.has_answered:
            raise EngineFailed(self.engine.failure_reason())
        if self.tries:
            say(f"keeper: {self.engine.title} has died; starting it again")
            time.sleep(min(0.1 * self.tries, 1.0))  # children of a killed server may still hold its memory
        self.child = self.engine.launch(sys.stderr.fileno())
        self.tries += 1

    def _runs(self) -> bool:
        if self.child is not None:
            return self.child.poll() is None
        return self.engine.running_pid() is not None

    def _stop(self) -> None:
        pid = self.child.pid if self.child else self.engine.running_pid()
        if pid is None:
            return
        for by, patience in ((self.engine.stop_signal, _STOPS_WITHIN), (self.engine.last_resort, 5.0)):
            deadline = time.monotonic() + patience
            if self._runs():
                os.kill(pid, by)
            while self._runs() and time.monotonic() < deadline:
                time.sleep(0.02)


def _waking_pipe() -> int:
    """A descriptor that can be read after a signal; that of an engine that ended is one."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    return woken


def main() -> None:
    """Start a fork for each engine: forks share memory (`script/bench home`)."""
    locks = {name: int(lock) for name, _, lock in (word.partition("=") for word in sys.argv[1:])}
    for name, lock in locks.items():
        os.set_inheritable(lock, False)  # the engine must not inherit the lock of its keeper
        if pid := os.fork():
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(pid).encode(), 0)
            continue
        for other in locks.values():
            if other != lock:
                os.close(other)
        engine = {"postgres": Postgres, "redis": Redis}[name](var_dir())
        with engine.log.open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.exit(Keeper(engine).keep())


if __name__ == "__main__":
    main()
