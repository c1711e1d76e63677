"""`script/bench home [--seconds N] [--json]`: what an idle `script/server` costs, in a separate installation.

Memory is the sum of Pss over all processes, engines included, and beside it what each has alone: other processes that
run from the same files lower the first. It is the mean of samples each ten seconds, for sessions of PostgreSQL come and
go. CPU, commits and WAL are those of N seconds (120 by default), which begin with a checkpoint, a minute after
everything has started and the first page was read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench.environment import arguments, report
from config.embedded.postgres import Postgres, as_superuser
from config.embedded.var import CHECKOUT
from demo.ports import free_port

_WARM_UP, _EVERY = 60.0, 10.0  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    name: str
    parent: int
    seconds: float
    """Of CPU, with those of its children that have ended."""


def main() -> None:
    parser = arguments("home")
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    with installation() as (tops, database):
        time.sleep(_WARM_UP)
        settle(database)
        before, count, began = tree(*tops), database_counts(database), time.monotonic()
        samples: list[tuple[str, tuple[int, int]]] = []
        while time.monotonic() < began + options.seconds:
            time.sleep(_EVERY)
            samples += [(one.name, memory(pid)) for pid, one in tree(*tops).items()]
        lasted, after = time.monotonic() - began, tree(*tops)
        commits, wal = (late - early for late, early in zip(database_counts(database), count, strict=True))
    rounds, rows = sum(name == "web" for name, _kib in samples), {}  # there is one web process
    for name in dict.fromkeys(one.name for one in after.values()):
        shared, private = (sum(kib[at] for one, kib in samples if one == name) / rounds / 1024 for at in (0, 1))
        late, early = (sum(one.seconds for one in found.values() if one.name == name) for found in (after, before))
        used = {"memory MiB": shared, "private MiB": private, "CPU %": (late - early) / lasted * 100}
        rows[name] = {column: round(value, 2) for column, value in used.items()}
    total = {column: round(sum(row[column] for row in rows.values()), 2) for column in used}
    total |= {"commits/s": round(commits / lasted, 2), "WAL MB/day": round(wal / lasted * 86_400 / 1e6, 1)}
    report("home", 0, total, rows, {})


@contextmanager
def installation() -> Iterator[tuple[list[int], str]]:
    """A new installation; yields the ids of its supervisor and keepers, and the URL of its database."""
    var = Path(tempfile.mkdtemp(prefix="home-", dir=CHECKOUT / "var"))
    port = str(free_port())
    environment = os.environ | {"CARILLON_VAR": str(var), "PORT": port}
    with (var / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "config.processes.server"], cwd=CHECKOUT, env=environment, stdout=log, stderr=log
        )
    try:
        while b"Carillon is ready" not in (var / "server.log").read_bytes():
            if server.poll() is not None:
                raise SystemExit((var / "server.log").read_text())
            time.sleep(0.5)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
            page.read()
        keepers = [int(keeper.read_text()) for keeper in var.glob("*/keeper")]
        yield [server.pid, *keepers], as_superuser(Postgres(var).url)
    finally:
        server.terminate()
        server.wait(90)
        shutil.rmtree(var)


def tree(*tops: int) -> dict[int, Process]:
    """These processes and those below them."""
    every = {int(entry.name): entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()}
    read = {pid: found for pid, entry in every.items() if (found := process(entry))}
    inside = set(tops)
    while more := {pid for pid, one in read.items() if one.parent in inside} - inside:
        inside |= more
    return {pid: one for pid, one in sorted(read.items()) if pid in inside}


def process(entry: Path) -> Process | None:
    try:
        words = (entry / "cmdline").read_text().replace("\0", " ").split()
        called, _, rest = (entry / "stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    values, line = rest.split(), " ".join(words)
    fork = called.partition("(")[2]  # the name that a fork has given itself
    name = fork if fork in _FORKS else next((one for one in _NAMES if re.search(_NAMES[one], line)), line[:30])
    return Process(name, int(values[1]), sum(map(int, values[11:15])) / _TICKS)


_FORKS = ("web", "worker", "beat")
_NAMES = {
    "PostgreSQL": r"^postgres: |bin/postgres ",
    "Redis": r"valkey-server|redis-server",
    "supervisor": r"config\.processes\.server",
    "keeper": r"embedded\.keeper",
}


def memory(pid: int) -> tuple[int, int]:
    """KiB that the process has with its share of what it has with others, and without it; 0 if it has ended."""
    try:
        lines = [line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    named = {words[0]: words[1] for words in lines[1:]}
    return int(named["Pss:"]), int(named["Private_Clean:"]) + int(named["Private_Dirty:"])


def settle(url: str) -> None:
    """What the new tables cost once is not the cost of being idle."""
    for database in ("carillon", "postgres", "template1"):
        with psycopg.connect(url.replace("/carillon?", f"/{database}?"), autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")


def database_counts(url: str) -> tuple[int, int]:
    """The commits of its sessions, and the bytes of WAL, since its start."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::bigint,"
            " pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
        ).fetchone()
    assert row is not None
    return row


if __name__ == "__main__":
    main()
