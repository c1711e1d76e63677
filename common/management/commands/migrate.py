"""`migrate`, one at a time: machines that start together each run it."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.core.management.commands.migrate import Command as Stock

from common.database.postgres import own_connection

LOCK = 0x6D_69_67_72  # of PostgreSQL's advisory locks: held by the one who migrates


class Command(Stock):
    def handle(self, *args: Any, **options: Any) -> None:
        with self._alone(options["database"]):
            super().handle(*args, **options)

    @contextmanager
    def _alone(self, database: str) -> Iterator[None]:
        """Wait until no other process migrates, then hold the lock.

        A transaction of a second connection holds it, since a pooler may change that of the migrations. It asks again
        instead of waiting in PostgreSQL, where an index that is made concurrently would wait for it.
        """
        own = own_connection(database)
        with closing(own), own.cursor() as cursor:
            own.set_autocommit(False)
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            has_written = False
            while not self._is_ours(cursor):
                if not has_written:
                    self.stderr.write("Another process migrates this database: waiting for its end.")
                has_written = True
                time.sleep(0.5)
            yield

    def _is_ours(self, cursor: Any) -> bool:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])
