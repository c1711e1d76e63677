"""`script/bench upgrade [--from REF] [--reminders N] [--seconds N] [--json]`: an upgrade and a rollback under load.

The release before fills a database and sends. This version migrates it meanwhile, runs beside the old processes, then
alone; then the old ones run on the new schema alone. In each phase something must arrive; each reminder and event once
on each of two channels; and no process may log an error. Exit status 1 otherwise. REF is `previous-release` of
pyproject.toml by default.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from cryptography.fernet import Fernet
from redis import Redis

from bench.environment import arguments, report
from config import embedded
from config.embedded.postgres import as_superuser
from config.embedded.var import CHECKOUT
from demo.child import Child

DATABASE = "bench_upgrade"
# Run by the release before, in its checkout: arguments are the port of the sink, reminders and seconds.
FILL = """
import sys
from datetime import UTC, timedelta
from random import Random
import django
django.setup()
from django.db import transaction
from django.utils import timezone
from bench.rows import WEBHOOK_SECRET, make_channel, make_deliveries, make_schedules, make_user
from events.intake import ledger
from events.models import Rule
from events.pure.envelope import Envelope
from schedules.models import Schedule

port, count, seconds = map(int, sys.argv[1:])
make_schedules(5_000, timezone.now() + timedelta(days=1))
user, rng = make_user(), Random(1)
make_deliveries(make_channel(user), 5_000)
channels = [
    make_channel(
        user, "webhook", {"url": f"http://127.0.0.1:{port}/ok/{rule}"}, {"secret": WEBHOOK_SECRET}, on_unknown=rule
    )
    for rule in ("retry", "hold")
]
rule = Rule.objects.create(user=user, name="Events", type_pattern="upgrade", title="{data.title}")
rule.channels.set(channels)
begin = timezone.now() + timedelta(seconds=5)
slots = [begin + timedelta(seconds=rng.uniform(0, seconds)) for _ in range(count)]
reminders = [
    Schedule(
        user=user, title=f"ok-{n}", kind="once", time_zone="UTC", next_fire_at=slot,
        rule={"at": slot.astimezone(UTC).replace(tzinfo=None).isoformat()},
    )
    for n, slot in enumerate(slots) if n % 4
]
with transaction.atomic():
    Schedule.objects.bulk_create(reminders)
    through = Schedule.channels.through
    through.objects.bulk_create(
        through(schedule_id=one.id, channel_id=channel.id) for one in reminders for channel in channels
    )
ledger.record(user.pk, [
    Envelope("upgrade", {"title": f"ok-{n}"}, "bench", delay=int((slots[n] - timezone.now()).total_seconds()) + 1)
    for n in range(0, count, 4)
])
"""


class Release:
    """The code of one version, as two workers and a beat."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment, self.lines = folder, environment, list[str]()
        celery = [sys.executable, "-m", "celery", "-A", "config", "--quiet"]
        worker = [*celery, "worker", "-Q", "deliveries,events,jobs,bulk,maintenance", "--without-mingle", "-n"]
        commands = {f"{name}-worker{n}": [*worker, f"{name}{n}@%h"] for n in (1, 2)} | {
            f"{name}-beat": [*celery, "beat"]
        }
        self.children = [
            Child(who, ["env", "-C", str(folder), *command], environment=environment, on_line=self._on_line)
            for who, command in commands.items()
        ]

    def _on_line(self, line: str, name: str) -> None:
        if re.search(r" (ERROR|CRITICAL) |^Traceback", line):
            self.lines.append(f"{name}: {line}")

    def run(self, *command: str) -> None:
        subprocess.run([sys.executable, *command], cwd=self.folder, env=os.environ | self.environment, check=True)

    def start(self) -> None:
        for child in self.children:
            child.start()

    def stop(self) -> None:
        """Ask all at once, as a service manager does, and wait."""
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.stop(90.0)

    def problems(self) -> list[str]:
        """Lines of errors, and processes that have ended by themselves."""
        ended = [
            f"{child.name} ended ({child.exit_status()})" for child in self.children if child.exit_status() is not None
        ]
        return [*self.lines, *ended]


@contextmanager
def sink(path: Path) -> Iterator[int]:
    """The port of a receiver that notes each arrival in a file."""
    command = [sys.executable, "-m", "bench.faults.sink", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def checked_out(reference: str) -> Path:
    """The code of a commit, in a temporary folder."""
    folder = embedded.var_dir() / "release-before"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", reference], cwd=CHECKOUT, stdout=subprocess.PIPE, check=False)
    if archive.returncode:
        sys.exit(f"{reference} is not in this clone: `git fetch --unshallow` gets it.")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def environment() -> dict[str, str]:
    """A new database and an empty broker, with the keys of both versions."""
    database_url, redis_url = embedded.urls()
    database_url, redis_url = as_superuser(database_url), redis_url.replace("?db=0", "?db=14")
    with psycopg.connect(database_url, autocommit=True) as engine:
        engine.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        engine.execute(f"CREATE DATABASE {DATABASE}")
    with Redis.from_url(redis_url) as client:
        client.flushdb()
    return {
        "DATABASE_URL": re.sub(r"/[^/?]*\?", f"/{DATABASE}?", database_url),
        "REDIS_URL": redis_url,
        "SECRET_KEY": Fernet.generate_key().decode(),
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOKS_PER_SECOND": "0",
        "SENDS_PER_PERSON_PER_DAY": "0",
        "LOG_LEVEL": "WARNING",
    }


def main() -> int:
    parser = arguments("upgrade")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    parser.add_argument("--from", dest="before", default=project["tool"]["carillon"]["previous-release"])
    parser.add_argument("--reminders", type=int, default=3_000)
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    variables, arrivals = environment(), embedded.var_dir() / "arrivals"
    old = Release("old", checked_out(options.before), variables)
    new = Release("new", CHECKOUT, variables)
    problems, arrived = list[str](), dict[str, int]()
    with sink(arrivals) as port:
        try:
            old.run("manage.py", "migrate", "--verbosity", "0")
            old.run("-c", FILL, str(port), str(options.reminders), str(options.seconds))

            def phase(name: str, running: Release, begin: float) -> None:
                """Wait for a fifth of the load, and count what arrived since `begin`."""
                time.sleep(options.seconds / 5)
                arrived[name] = arrivals_since(arrivals, begin)
                problems.extend(running.problems() + ([] if arrived[name] else [f"Nothing arrived in: {name}"]))

            old.start()
            migrating = time.time()
            new.run("manage.py", "migrate", "--verbosity", "0")
            migrated = time.time()
            phase("old, new schema", old, migrated)
            new.start()
            begin = time.time()
            phase("both", old, begin)
            old.stop()
            begin = time.time()
            phase("new", new, begin)
            new.stop()
            old.lines.clear()
            try:
                old.run("manage.py", "migrate", "--verbosity", "0")
            except subprocess.CalledProcessError:
                problems.append("The release before refuses the new schema.")
            begin = time.time()
            old.start()
            phase("rolled back", old, begin)
            counts = wait_for_all(arrivals, 2 * options.reminders)
            problems += old.problems()
        finally:
            for release in (old, new):
                release.stop()
    figures = {
        "expected": 2 * options.reminders,
        "lost": 2 * options.reminders - len(counts),
        "doubled": sum(counts.values()) - len(counts),
        "errors": len(problems),
        "migrate s": round(migrated - migrating, 1),
        **arrived,
    }
    print(*problems[:20], sep="\n")
    report("upgrade", 1, figures, {}, {})
    return int(any(figures[name] for name in ("lost", "doubled", "errors")))


def wait_for_all(arrivals: Path, expected: int) -> Counter[str]:
    """How often each title arrived at each channel, once all have or a minute has brought nothing new."""
    counts, since = counted(arrivals), time.monotonic()
    while len(counts) < expected and time.monotonic() - since < 60:
        time.sleep(1.0)
        if (now := counted(arrivals)) != counts:
            counts, since = now, time.monotonic()
    time.sleep(10.0)  # for what comes twice
    return counted(arrivals)


def counted(arrivals: Path) -> Counter[str]:
    lines = (line.split(" ", 4) for line in arrivals.read_text().splitlines())
    return Counter(f"{path} {title}" for _, path, _, _, title in lines)


def arrivals_since(arrivals: Path, begin: float) -> int:
    return sum(float(line.partition(" ")[0]) > begin for line in arrivals.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())
