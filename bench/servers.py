"""Servers for the harness: PostgreSQL of any version, with a standby, and PgBouncer."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg

from config.embedded.account import Account, account_for, run_as
from demo.ports import free_port

_ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
_SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": "100", "log_min_error_statement": "panic"}


class Postgres:
    """A server in the folder `home`, on a port of 127.0.0.1 and on a Unix socket there. It is restarted if it dies.

    `programs`: the folder of `initdb` and `postgres`, and for a standby `pg_basebackup`. `standby`: nothing is
    acknowledged before it has it.
    """

    def __init__(self, home: Path, programs: Path, standby: Postgres | None = None) -> None:
        self.home, self.programs, self.port = home.resolve(), programs, free_port()
        self.data = self.home / "data"
        self.settings, self.standby = dict(_SETTINGS), standby
        self._account: Account | None = account_for(self.data)
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = threading.Event()
        self._keeper: threading.Thread | None = None

    def url(self, database: str = "carillon") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self.stop(signal.SIGQUIT)

    def make(self) -> str:
        """A new cluster with an empty database, and its URL."""
        self._make_home()
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        self.start()
        with psycopg.connect(self.url("postgres"), autocommit=True) as engine:
            engine.execute("CREATE DATABASE carillon")
        if self.standby is None:
            return self.url()
        self.standby.follow(f"host=127.0.0.1 port={self.port}")
        with psycopg.connect(self.url(), autocommit=True) as engine:
            engine.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            engine.execute("SELECT pg_reload_conf()")
        return self.url().replace("/carillon", f",127.0.0.1:{self.standby.port}/carillon")

    def follow(self, primary: str) -> None:
        """Become the standby of the server of these parameters of libpq, from a copy. It is called “standby” there."""
        self._make_home()
        there = f"{primary} user=postgres application_name=standby"
        self._run("pg_basebackup", "-D", str(self.data), "-R", "--checkpoint=fast", "-d", there)
        self.start()

    def promote(self) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as engine:
            engine.execute("SELECT pg_promote()")

    def start(self) -> None:
        """Wait until it answers."""
        self._wanted.set()
        self._launch()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: it ends sessions and writes a checkpoint. SIGKILL: its children die too, as with a machine."""
        self._wanted.clear()
        assert self._process
        assert self._keeper
        self._keeper.join()
        pid = self._process.pid
        family = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if by == signal.SIGKILL else []
        self._process.send_signal(by)
        for child in family:
            with suppress(ProcessLookupError):
                os.kill(int(child), by)
        self._process.wait()

    def running_pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    def _keep(self) -> None:
        while self._wanted.is_set():
            assert self._process
            if self._process.poll() is not None:
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                self._launch()
            time.sleep(0.2)

    def _launch(self) -> None:
        given = {"port": str(self.port), "unix_socket_directories": str(self.home)} | self.settings
        arguments = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", str(self.data), *arguments],
                cwd=self.home,
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **run_as(self._account),
            )

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        subprocess.run(
            command, cwd=self.home, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, check=True, **run_as(self._account)
        )

    def _make_home(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        if self._account:
            self._account.open_path_to(self.data)
            os.chown(self.home, self._account.uid, self._account.gid)


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[Path]:
    """A file system in memory of so many megabytes. Only root may mount one."""
    at.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@contextmanager
def pgbouncer(program: str, server: str, directory: Path) -> Iterator[int]:
    """The port of a PgBouncer in transaction mode, in front of `server` (as in its section of databases)."""
    port = free_port()
    config = directory / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = {server}\n[pgbouncer]\nauth_type = any\npool_mode = transaction\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nmax_client_conn = 500\n"
    )
    config.chmod(0o644)
    reader = "nobody" if os.geteuid() == 0 else None  # PgBouncer refuses to run as root
    with config.open() as file, subprocess.Popen([program, "-q", "/dev/stdin"], user=reader, stdin=file) as process:
        try:
            while not _listens(port):
                if process.poll() is not None:
                    raise RuntimeError(f"{program} ended with status {process.returncode}")
                time.sleep(0.02)
            yield port
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
