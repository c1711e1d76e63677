"""`script/bench faults [--cell N] [--deliveries 10000] [--seed S] [--pool prefork] [--mutation NAME] [--json]
[--postgres FOLDER] [--pgbouncer PROGRAM] [--broker rabbitmq|sentinels]`.

What is lost and what arrives twice under faults, as shown in docs/reliability.md: twenty-one cells with real processes
and engines. A full run takes about half an hour. Exit status 1 if a cell is red. `--postgres`: with the server whose
programs are in FOLDER. `--pgbouncer`: workers, beats and web through it, in transaction mode.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.faults.brokers import BROKERS, Broker
from bench.faults.environment import prepare
from bench.servers import Postgres, pgbouncer, small_disk
from config import embedded

if TYPE_CHECKING:
    from bench.faults.run import Verdict

_FAILOVER, _DISK = 19, 20  # each alone, for it has engines of its own
_HEADS = ("cell", "delivered", "lost", "twice", "repeats", "unknown", "expired", "dead", "p99, s")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/bench faults", description=__doc__)
    parser.add_argument("--cell", type=int, action="append", choices=range(1, 24))
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--mutation", default="", help="no-rescue, no-fence and others, see apps.py")
    parser.add_argument("--pool", choices=("threads", "prefork"), default="threads")
    parser.add_argument("--broker", choices=BROKERS, default="redis")
    parser.add_argument("--patience", type=float, default=90.0, help="seconds without progress until a cell ends")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--postgres", default="", help="a folder with initdb and postgres")
    parser.add_argument("--pgbouncer", default="", help="the program, 1.24 or newer")
    return parser.parse_args(arguments)


def main() -> int:
    wished = parse()
    with ExitStack() as running:
        server, variables = None, {}
        if wished.postgres or wished.pgbouncer or wished.cell in ([_FAILOVER], [_DISK]):
            programs, var = Path(wished.postgres or embedded.postgres_programs()), embedded.var_dir()
            standby = running.enter_context(Postgres(var / "standby", programs)) if wished.cell == [_FAILOVER] else None
            home = running.enter_context(small_disk(var / "disk", 256)) if wished.cell == [_DISK] else var
            server = running.enter_context(Postgres(home / "server", programs, standby))
        broker = prepare(server.make if server else str, lambda: running.enter_context(BROKERS[wished.broker]()))
        if server and wished.pgbouncer:
            to = f"host=127.0.0.1 port={server.port} user=postgres"
            port = running.enter_context(pgbouncer(wished.pgbouncer, to, embedded.var_dir()))
            variables["DATABASE_URL"] = f"postgresql://postgres@127.0.0.1:{port}/carillon?options="
        return play(wished, broker, server, **variables)


def play(wished: argparse.Namespace, broker: Broker, server: Postgres | None = None, **variables: str) -> int:
    """Run the cells, once Django is set up; returns the exit status. `variables`: for workers, beats and web."""
    from bench.faults.run import run

    verdicts = []
    for number in wished.cell or [*range(1, 19), 21, 22, 23]:
        verdict = run(
            number,
            wished.deliveries,
            wished.seed + number,
            broker,
            wished.pool,
            wished.mutation,
            wished.patience,
            server,
            **variables,
        )
        verdicts.append(verdict)
        print(
            f"cell {number}: {verdict.title}: {', '.join(verdict.red) or 'green'}, "
            f"{verdict.result.expected:,} in {verdict.seconds} s, seed {verdict.seed}",
            flush=True,
        )
        for note in verdict.result.notes[:15]:
            print(f"    {note}", flush=True)
    # As docs/reliability.md has it.
    for row in (_HEADS, ["---"] * len(_HEADS), *(_line(verdict) for verdict in verdicts)):
        print(f"| {' | '.join(row)} |")
    if wished.json:
        cells = {
            verdict.number: {
                "title": verdict.title,
                "red": verdict.red,
                "seconds": verdict.seconds,
                "seed": verdict.seed,
            }
            | verdict.result.as_values
            for verdict in verdicts
        }
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        found = {
            "bench": "faults",
            "machine": machine,
            "pool": wished.pool,
            "broker": wished.broker,
            "ours": cells,
            "seed": wished.seed,
        }
        print(json.dumps(found | {"peers": {}, "ratios": {}}))
    return 1 if any(verdict.red for verdict in verdicts) else 0


def _line(verdict: Verdict) -> list[str]:
    found = verdict.result
    counts = (found.delivered, found.lost, found.duplicates, found.repeats, found.unknown, found.expired, found.dead)
    return [f"{verdict.number} {verdict.title}", *(f"{count:,}" for count in counts), str(found.p99)]


if __name__ == "__main__":
    sys.exit(main())
