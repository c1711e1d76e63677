"""The database of the release before, filled: `script/release_dump` writes it, and a test upgrades it.

A clone without history has no old code to run; `script/bench upgrade` does that.
"""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path

DUMP = Path(__file__).parent / "process" / "config" / "released.sql.gz"
KEYS = {"SECRET_KEY": "the key of a database that only tests load", "ENCRYPTION_KEYS": f"{'A' * 42}E="}
DUE = {"A reminder that was due", "A message that waited", "Order 7"}


def fill() -> None:
    """Rows in nearly all tables, and what is due in each way: a reminder, a delivery, an event."""
    from events.intake import ledger
    from events.pure.envelope import Envelope
    from jobs.models import Batch, Job
    from tests.db.every_url import values_of
    from tests.make import NOON, make_channel, make_delivery, make_rule, make_schedule, make_user

    ada = make_user(email="ada@example.org")
    values_of(ada)
    Job.objects.all().delete()  # of a kind that only tests have
    Batch.objects.all().delete()  # with a message that is none
    webhook = make_channel(ada, "webhook")
    make_schedule(ada, [webhook], kind="once", title="A reminder that was due", rule={"at": "2026-06-01T13:00:00"})
    make_delivery(webhook, subject="A message that waited", available_at=NOON, wake_at=NOON)
    make_delivery(webhook, state="dead", tries=5, reason="no")
    make_rule(ada, channels=[webhook])
    ledger.record(ada.pk, [Envelope("order.paid", {"order_id": 7, "amount": 120}, "shop")])


def write() -> None:
    from bench.environment import children_environment, environment

    with environment():
        from django.db import connection

        fill()
        program = _engine().with_name("pg_dump")
        url = children_environment()["DATABASE_URL"]
        connection.close()
        done = subprocess.run([program, "--no-owner", "--no-privileges", "-d", url], stdout=subprocess.PIPE, check=True)
    # Of another database: what pg_dump writes for its own psql alone is left out.
    lines = [line for line in done.stdout.splitlines() if not line.startswith((b"\\restrict", b"\\unrestrict"))]
    DUMP.write_bytes(gzip.compress(b"\n".join(lines), 9, mtime=0))


def load(url: str) -> None:
    """Into an empty database."""
    program = _engine().with_name("psql")
    given = gzip.decompress(DUMP.read_bytes())
    command = [program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url]
    subprocess.run(command, input=given, stdout=subprocess.DEVNULL, check=True)


def _engine() -> Path:
    from config import embedded
    from config.embedded.postgres import Postgres

    return Postgres(embedded.var_dir()).locate()


if __name__ == "__main__":
    os.environ |= KEYS
    write()
