"""`script/server`: all of Carillon in one terminal, for one machine.

It migrates the database, creates a first admin, and starts web, two workers and beat. A child that dies is restarted;
if it dies three times within a minute, everything stops with exit status 1 (a worker: three times before it was ready).
Ctrl-C or SIGTERM stops beat, workers, web and engines, in this order, so that nothing new begins while current work
finishes. A second Ctrl-C kills at once.
"""

import http.client
import os
import signal
import socket
import sys
import time
from collections import deque
from contextlib import suppress

from config import embedded, preflight
from config.environment import env
from config.processes.child import Child, print_line, web_command, worker_command

_READY_WITHIN = 90.0  # seconds
# Seconds. What children say at their start has ended after a pause; beat and workers also say what they do later.
_PAUSE, _PAUSES_WITHIN = 1.0, 6.0
_DEATHS, _WITHIN = 3, 60.0
# Python uses one core for each; and while one starts again, the other goes on.
_WORKERS = ("worker1", "worker2")
_FIRST_ADMIN = "admin@localhost"
# Seconds. A delivery may take its deadline of 60 s.
_BEAT_STOPS_WITHIN, _WORKER_STOPS_WITHIN, _WEB_STOPS_WITHIN = 5.0, 65.0, 8.0


class Server:
    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.first_admin = ""
        self.signals = 0
        self.last_line_at = 0.0
        self.web = Child("web", web_command(host, port), ready_check=self._web_answers, on_line=self._on_line)
        # INFO is the level of the lines that we wait for.
        self.workers = [
            Child(name, worker_command(name, "INFO"), ready_sign=" ready.", on_line=self._on_line) for name in _WORKERS
        ]
        beat = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "beat", "--loglevel", "INFO"]
        self.beat = Child("beat", beat, ready_sign="beat: Starting...", on_line=self._on_line)
        self.deaths: dict[Child, deque[float]] = {
            child: deque(maxlen=_DEATHS) for child in (self.web, *self.workers, self.beat)
        }

    @property
    def address(self) -> str:
        shown = "127.0.0.1" if self.host in {"", "0.0.0.0", "::"} else self.host  # noqa: S104
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    def run(self) -> int:
        """Run until a signal (0) or a failure (1); return the exit status."""
        try:
            for child in self.deaths:
                child.start()
            if ready := self._become_ready():
                self._await_pause()
                last = f"Carillon is ready: {self.address} (admin: {self.address}/admin/). Ctrl-C stops it."
                print_line("\n".join(filter(None, (last, self.first_admin))))
            return self._watch() if ready else int(not self.signals)
        finally:
            self._stop()

    def ask_to_stop(self, *_: object) -> None:
        self.signals += 1

    def _become_ready(self) -> bool:
        deadline = time.monotonic() + _READY_WITHIN
        while not self.signals:
            for child in self.deaths:
                if (status := child.exit_status()) is not None:
                    print_line(f"{child.name} did not start (exit status {status}); stopping. See its last lines.")
                    return False
            waiting = [child.name for child in self.deaths if not child.is_ready()]
            if not waiting:
                return True
            if time.monotonic() > deadline:
                print_line(f"{' and '.join(waiting)} not ready after {_READY_WITHIN:.0f} s; stopping")
                return False
            time.sleep(0.25)
        return False

    def _on_line(self, line: str, name: str) -> None:
        self.last_line_at = time.monotonic()
        print_line(line, name)

    def _await_pause(self) -> None:
        deadline = time.monotonic() + _PAUSES_WITHIN
        while not self.signals and time.monotonic() < min(self.last_line_at + _PAUSE, deadline):
            time.sleep(0.05)

    def _watch(self) -> int:
        while not self.signals:
            time.sleep(0.2)
            embedded.look_after()
            for child, deaths in self.deaths.items():
                if (status := child.exit_status()) is None:
                    continue
                if child not in self.workers or not child.is_ready():  # a provider may end a worker, not the server
                    deaths.append(time.monotonic())
                if len(deaths) == _DEATHS and deaths[-1] - deaths[0] < _WITHIN:
                    print_line(f"{child.name} died {_DEATHS} times in a minute (last exit status {status}); stopping")
                    return 1
                print_line(f"{child.name} died (exit status {status}); starting it again")
                child.stop(0.0)  # its own children
                child.start()
        return 0

    def _stop(self) -> None:
        print_line("Stopping beat, workers and web … (press Ctrl-C again to stop at once)")
        already = self.signals

        def hurry() -> bool:
            return self.signals > already

        self.beat.stop(_BEAT_STOPS_WITHIN, hurry)
        for worker in self.workers:
            worker.ask_to_stop()
        for worker in self.workers:
            worker.stop(_WORKER_STOPS_WITHIN, hurry)
        self.web.stop(_WEB_STOPS_WITHIN, hurry)
        embedded.leave()
        print_line("Stopped.")

    def _web_answers(self) -> bool:
        there = self.address.removeprefix("http://").rsplit(":", 1)[0].strip("[]")
        connection = http.client.HTTPConnection(there, self.port, timeout=5)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        return False


def _check_port(host: str, port: int) -> None:
    """Raise Misconfigured if the address cannot be used, before anything is started."""
    if not 1 <= port <= 65535:
        raise env.Misconfigured("PORT", f"is {port}, which is not a port (1 to 65535)", "8001")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise env.Misconfigured(
            "PORT", f"{port} on {host} cannot be used ({error.strerror}); choose another", "8001"
        ) from None


def _set_up() -> str:
    """Migrate; return what to say of the first admin."""
    import django
    from django.core.management import call_command

    django.setup()
    print_line("Migrating the database …")
    call_command("migrate", interactive=False, verbosity=0)
    from config import startup

    startup.check()
    return _invite_first_admin()


def _invite_first_admin() -> str:
    """Create an admin if there is none. Until somebody has chosen the first one's password, return where to."""
    from django.conf import settings
    from django.contrib.auth import get_user_model

    from people.sign_in.address_undo import password_page

    admins = get_user_model().objects.filter(is_superuser=True)
    first = admins.filter(email=_FIRST_ADMIN).first()
    if admins.exists() if first is None else first.has_usable_password():
        return ""
    first = first or get_user_model().objects.create_superuser(email=_FIRST_ADMIN, password=None)
    return f"Choose the password of {_FIRST_ADMIN} within an hour: {settings.BASE_URL}{password_page(first)}"


def main() -> int:
    host, port = env.text("HOST", "127.0.0.1"), env.integer("PORT", 8000)
    _check_port(host, port)
    server = Server(host, port)
    os.environ.setdefault("BASE_URL", server.address)
    preflight.check()
    server.first_admin = _set_up()
    signal.signal(signal.SIGINT, server.ask_to_stop)
    signal.signal(signal.SIGTERM, server.ask_to_stop)
    return server.run()


if __name__ == "__main__":
    sys.exit(main())
