"""Run a command while you hold a lock."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from carillon_client import account
from carillon_client.client import Client
from carillon_client.commands.output import Declare, show_list
from carillon_client.connection import CarillonError, Problem

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL, at most a quarter of the lock's time
_LONGEST_PAUSE = 5.0  # seconds between two questions whether it is free


def declare(command: Declare) -> None:
    lock = command("lock", _lock, "Run a command while you hold a lock. Without a name, list the locks that are held.")
    lock.add_argument("name", nargs="?", help="of the lock, such as backup")
    lock.add_argument("--ttl", type=int, default=30, metavar="SECONDS", help="renewed each third of it (30)")
    lock.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="wait so long until it is free (0)")
    lock.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="finds its fence in $CARILLON_FENCE"
    )
    lock.set_defaults(limit=0)


def _lock(carillon: Client, options: argparse.Namespace) -> None:
    if options.name is None:
        show_list(options, carillon.locks.list(), lambda one: f"{one['name']}: {one['holder']}", "No lock is held.")
        return
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command or command[0].startswith("-"):
        raise ValueError(
            f"Write options before the name, and a command behind the name: carillon lock {options.name} -- COMMAND."
        )
    token, fence, until = _acquire(carillon, options)
    carillon.close()
    # A call that waits longer comes too late.
    with Client(*account.read(), timeout=max(1.0, min(10.0, options.ttl / 4)), tries=1) as carillon:
        status = _run(carillon, options, command, token, fence, until)
    sys.exit(status if status >= 0 else 128 - status)


def _run(
    carillon: Client, options: argparse.Namespace, command: list[str], token: str, fence: int, until: float
) -> int:
    """The status of the command. It never runs longer than the lock is held, while this process runs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        child = subprocess.Popen(command, env=os.environ | {"CARILLON_FENCE": str(fence)})  # noqa: S603  # typed by the user
        try:
            return _renew_while(carillon, child, options, token, until)
        finally:
            _end(child, min(_GRACE, options.ttl / 4))
    finally:
        with suppress(CarillonError):  # its time frees it
            carillon.locks.release(options.name, token)


def _acquire(carillon: Client, options: argparse.Namespace) -> tuple[str, int, float]:
    """The token, the fence, and until when it is held by this process's clock. Raises CarillonError where it is not."""
    give_up_at = time.monotonic() + options.wait
    while True:
        requested_at = time.monotonic()
        taken = carillon.locks.acquire(options.name, ttl=options.ttl, holder=f"{socket.gethostname()} {os.getpid()}")
        if taken["token"] is not None and taken["fence"] is not None:
            return taken["token"], taken["fence"], requested_at + options.ttl
        wait, left = (taken["wait_ms"] or 0) / 1000, give_up_at - time.monotonic()
        if left <= 0:
            raise CarillonError(f"{taken['holder']} holds {options.name}, for {wait:.0f} s unless it is renewed.")
        time.sleep(min(max(wait, 0.1), _LONGEST_PAUSE, left))


def _renew_while(
    carillon: Client, child: subprocess.Popen[bytes], options: argparse.Namespace, token: str, until: float
) -> int:
    """Renew the lock until the command ends, and return its status. Raises CarillonError where the lock is lost, in
    time to end the command before somebody else has it."""
    pause, grace, why = options.ttl / 3, min(_GRACE, options.ttl / 4), ""
    while (left := until - grace - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(min(pause, left))
        requested_at = time.monotonic()
        try:
            carillon.locks.renew(options.name, token, ttl=options.ttl)
            until, pause = requested_at + options.ttl, options.ttl / 3
        except CarillonError as error:
            why, pause = f" {error}", min(1.0, pause)
            if isinstance(error, Problem) and error.status == 409:
                break
    raise CarillonError(f"The lock {options.name} could not be renewed, so the command was ended.{why}")


def _end(child: subprocess.Popen[bytes], grace: float) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
