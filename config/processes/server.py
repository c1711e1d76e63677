"""`script/server`: all of Carillon in one terminal, for one machine.

It migrates the database, creates a first admin, and starts web, a worker and beat, as forks that share the memory of
what this process has imported. A child that dies is restarted; if it dies three times within a minute, everything stops
with exit status 1 (the worker: three times before it was ready). Ctrl-C or SIGTERM stops beat, worker, web and engines,
in this order, so that nothing new begins while current work finishes. A second Ctrl-C kills at once.
"""

import gc
import http.client
import logging.config
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from multiprocessing.connection import Connection

from celery import signals
from django.conf import settings

from config import embedded, preflight
from config.celery import app
from config.embedded.var import say
from config.environment import env
from config.processes.commands import role_of, web_command
from config.processes.fork import ForkedChild, LabelledOutput, fork, release_memory

_READY_WITHIN = 90.0  # seconds
_PAUSE = 1.0  # seconds, in which children write the last lines of their start
_DEATHS, _WITHIN = 3, 60.0
_FIRST_ADMIN = "admin@localhost"
# Seconds. A delivery may take its deadline of 60 s.
_BEAT_STOPS_WITHIN, _WORKER_STOPS_WITHIN, _WEB_STOPS_WITHIN = 5.0, 65.0, 8.0


class Server:
    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.first_admin = ""
        self.signals = 0
        self.web = ForkedChild("web", web_command(host, port)[2:], _serve, self._web_answers)
        self.worker = ForkedChild("worker", ["celery", "worker"], _work)
        self.beat = ForkedChild("beat", ["celery", "beat"], _beat)
        self.deaths: dict[ForkedChild, deque[float]] = {
            child: deque(maxlen=_DEATHS) for child in (self.web, self.worker, self.beat)
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
            return self._wait_until_ready() or self._watch()
        finally:
            self._stop()

    def ask_to_stop(self, *_: object) -> None:
        self.signals += 1

    def _wait_until_ready(self) -> int:
        deadline = time.monotonic() + _READY_WITHIN
        while not self.signals:
            time.sleep(0.25)
            for child in self.deaths:
                if (status := child.exit_status()) is not None:
                    say(f"{child.name} did not start (exit status {status}); stopping. See its last lines.")
                    return int(not self.signals)
            if not (waiting := [child.name for child in self.deaths if not child.is_ready()]):
                self._tell_ready()
                break
            if time.monotonic() > deadline:
                say(f"{' and '.join(waiting)} not ready after {_READY_WITHIN:.0f} s; stopping")
                return 1
        return 0

    def _watch(self) -> int:
        while not self.signals:
            time.sleep(1.0)
            for child, deaths in self.deaths.items():
                if (status := child.exit_status()) is None:
                    continue
                if child is not self.worker or not child.is_ready():  # a provider may end a worker, not the server
                    deaths.append(time.monotonic())
                if len(deaths) == _DEATHS and deaths[-1] - deaths[0] < _WITHIN:
                    say(f"{child.name} died {_DEATHS} times in a minute (last exit status {status}); stopping")
                    return 1
                say(f"{child.name} died (exit status {status}); starting it again")
                child.stop(0.0)  # its own children
                child.start()
            embedded.look_after()
        return 0

    def _tell_ready(self) -> None:
        time.sleep(_PAUSE)
        last = f"Carillon is ready: {self.address} (admin: {self.address}/admin/). Ctrl-C stops it."
        say("\n".join(filter(None, (last, self.first_admin))))
        release_memory()

    def _stop(self) -> None:
        say("Stopping beat, worker and web … (press Ctrl-C again to stop at once)")
        already = self.signals

        def hurry() -> bool:
            return self.signals > already

        self.beat.stop(_BEAT_STOPS_WITHIN, hurry)
        self.worker.stop(_WORKER_STOPS_WITHIN, hurry)
        self.web.stop(_WEB_STOPS_WITHIN, hurry)
        embedded.leave()
        say("Stopped.")

    def _web_answers(self) -> bool:
        connection = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=5)
        with suppress(OSError, http.client.HTTPException), closing(connection):
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


def _load() -> None:
    """Import what the children share. It opens no connection to PostgreSQL or Redis and starts no thread."""
    import django
    from django.apps import apps

    # django-ninja asks this package for a signal. Its other modules, for tests, take 4 MiB (`script/bench home`).
    if spec := find_spec("django.test"):
        sys.modules["django.test"] = module_from_spec(spec)
    django.setup()
    app.loader.import_default_modules()
    app.finalize()
    from notifications.deliveries.preload import preload

    preload()
    middleware = (path.rpartition(".")[0] for path in settings.MIDDLEWARE)
    for module in (*middleware, *_SHARED):
        import_module(module)
    for name in ("jobs.kinds", "events.flows"):
        import_module(name).registry.all()
    for model in apps.get_models():  # fill the caches of its fields
        _ = model._meta.get_fields(), model._meta.fields_map
    gc.collect()
    gc.freeze()  # a collection in a child would write to what it shares


# What the children would import each for itself.
_SHARED = (
    *("config.startup", "config.web.body_limit", "config.web.request_head", "config.web.response_headers"),
    *("config.web.unavailable", "people.middleware", "common.redis.cache", "config.web.message_cookie"),
    *("schedules.beat.scheduler", "schedules.web.context", "psycopg_pool", "django_celery_results.backends.database"),
    *("django.contrib.staticfiles.storage", "django.contrib.messages.storage.fallback"),
    *("uvicorn.main", "uvicorn.protocols.http.httptools_impl", "uvicorn.loops.uvloop", "uvicorn.lifespan.off"),
    *("celery.apps.worker", "celery.apps.beat", "celery.concurrency.thread", "celery.app.amqp"),
    *("celery.worker.autoscale", "celery.worker.components", "celery.worker.consumer", "celery.worker.strategy"),
    *("celery.app.control", "celery.app.events", "celery.app.log", "celery.app.routes", "celery.events.receiver"),
    *("celery.worker.consumer.delayed_delivery", "billiard.pool", "kombu.transport.redis"),
)


def _serve(_: Callable[[], None]) -> None:
    _use_own_connections()
    import uvicorn

    uvicorn.main()


# The command line of Celery would load more modules, of 8 MiB (`script/bench home`).
def _work(become_ready: Callable[[], None]) -> None:
    _use_own_connections()
    signals.worker_ready.connect(lambda **_: become_ready(), weak=False)
    quick = {"without_mingle": True, "without_gossip": True}  # no messages between workers: a second at the start
    worker = app.Worker(hostname="worker@", queues=settings.QUEUES, quiet=True, **quick)
    worker.start()
    sys.exit(worker.exitcode)


def _beat(become_ready: Callable[[], None]) -> None:
    _use_own_connections()
    signals.beat_init.connect(lambda **_: become_ready(), weak=False)
    app.Beat(quiet=True).run()


def _use_own_connections() -> None:
    """Correct what the settings took from the command line of this process. Only web and worker have threads."""
    role = role_of(sys.argv)
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        if options.get("application_name") == role_of([__file__]):
            options["application_name"] = role
        if role not in ("carillon web", "carillon worker"):
            options.pop("pool", None)
            database["CONN_MAX_AGE"] = None


def _set_up(sent: Connection) -> None:
    """Check the engines and migrate; send what to say of the first admin."""
    from django.core.management import call_command

    from config import startup

    _use_own_connections()
    preflight.check()
    say("Migrating the database …")
    call_command("migrate", interactive=False, verbosity=0)
    startup.check()
    sent.send(_invite_first_admin())


def _invite_first_admin() -> str:
    """Create an admin if there is none. Return what the operator must do until somebody can sign in as one."""
    from django.contrib.auth import get_user_model

    from people.sign_in.address_undo import password_page

    accounts = get_user_model().objects
    admins = accounts.filter(is_superuser=True)
    first = admins.filter(email=_FIRST_ADMIN).first()
    if admins.exists() if first is None else first.has_usable_password():
        return ""
    if first is None and accounts.filter(email=_FIRST_ADMIN).exists():
        # It is not made an admin: anybody may have signed up with this address.
        return f"There is no admin, and {_FIRST_ADMIN} is somebody's account. Make one by manage.py createsuperuser."
    first = first or accounts.create_superuser(email=_FIRST_ADMIN, password=None)
    return f"Choose the password of {_FIRST_ADMIN} within an hour: {settings.BASE_URL}{password_page(first)}"


def main() -> int:
    host, port = env.text("HOST", "127.0.0.1"), env.integer("PORT", 8000)
    _check_port(host, port)
    server = Server(host, port)
    if "BASE_URL_FILE" not in os.environ:
        os.environ.setdefault("BASE_URL", server.address)
    _load()
    output = open(1, "wb", closefd=False)  # noqa: SIM115 - for as long as this process
    sys.stdout = sys.stderr = LabelledOutput(output, sys.stdout.encoding, "backslashreplace", line_buffering=True)
    logging.config.dictConfig(settings.LOGGING)  # the handlers so far write to the standard error of before
    signal.signal(signal.SIGINT, server.ask_to_stop)
    signal.signal(signal.SIGTERM, server.ask_to_stop)
    received, sent = multiprocessing.Pipe(duplex=False)
    set_up = fork(lambda: _set_up(sent))
    while set_up.exitcode is None:
        set_up.join(0.1)
        if server.signals:
            set_up.terminate()
    if server.signals or set_up.exitcode:
        return int(not server.signals)
    from config import startup

    server.first_admin, startup.is_done = received.recv(), True
    return server.run()


if __name__ == "__main__":
    sys.exit(main())
