"""Web processes and the load on them, for the benches of requests."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import socket
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from demo.ports import free_port

Requests = dict[str, dict[str, Callable[[], bytes]]]
"""By what is measured, then by web process: what makes a request."""


def measure(
    webs: dict[str, Web], requests: Requests, options: argparse.Namespace
) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """What each of `webs` did, and the ratios of "ours" to each of the others, in interleaved rounds."""
    found: dict[str, dict[str, Any]] = {name: {} for name in webs}
    ratios = {}
    for kind, made in requests.items():
        for name, web in webs.items():  # warm up
            uvloop.run(load(web.port, made[name], options.clients, seconds=1.0))
        rounds: dict[str, list[Round]] = {name: [] for name in webs}
        for _ in range(options.rounds):
            for name, web in webs.items():
                cpu = web.cpu()
                rate, took = uvloop.run(load(web.port, made[name], options.clients, options.seconds))
                rounds[name].append(Round(rate, (web.cpu() - cpu) / len(took), took))
        for name, each in rounds.items():
            found[name] |= {
                f"{kind} a second": round(statistics.median(one.rate for one in each)),
                f"{kind} CPU ms": round(statistics.median(one.cpu for one in each) * 1000, 2),
                f"{kind} p99 ms": round(p99([took for one in each for took in one.took]) * 1000, 1),
            }
        for name in made.keys() - {"ours"}:
            pairs = list(zip(rounds["ours"], rounds[name], strict=True))
            label = kind if name == "bare view" else f"{kind} to {name}"
            ratios[label] = round(statistics.median(own.rate / peer.rate for own, peer in pairs), 2)
            ratios[f"{label} CPU"] = round(statistics.median(peer.cpu / own.cpu for own, peer in pairs), 2)
    return found, ratios


def p99(took: list[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


@dataclass(frozen=True, slots=True)
class Round:
    """Requests a second, CPU seconds of the web process for each, and the seconds that each took."""

    rate: float
    cpu: float
    took: list[float]


class Web:
    """A web process on a free port, as a context; `more` arguments of uvicorn. `python`: one with other packages."""

    def __init__(self, application: str, variables: dict[str, str], *more: str, python: str = sys.executable) -> None:
        from config.processes.commands import web_command  # not before Django is set up
        from demo.child import Child

        self.port = free_port()
        arguments = [python, *web_command("127.0.0.1", self.port)[1:]]
        arguments[arguments.index("config.asgi:application")] = application
        self.child = Child(
            "web", [*arguments, "--no-access-log", "--log-level", "warning", *more], environment=variables
        )

    def __enter__(self) -> Web:
        self.child.start()
        deadline = time.monotonic() + 60
        while self.child.exit_status() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.1)
        self.child.stop(3.0)
        raise SystemExit("The web process did not start")

    def __exit__(self, *_: object) -> None:
        self.child.stop(3.0)

    def memory(self) -> float:
        """Resident memory in MiB."""
        lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def cpu(self) -> float:
        """CPU seconds that it has used."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request(method: str, path: str, head: str, body: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}{length}\r\n{body}".encode()


async def load(
    port: int,
    make: Callable[[], bytes],
    clients: int,
    seconds: float = math.inf,
    count: int = sys.maxsize,
    pace: float = 0.0,
) -> tuple[float, list[float]]:
    """Make requests for so many seconds, or so many. Returns how many a second, and the seconds that each took.

    A client sends the next one when it has the answer, but only one in `pace` seconds.
    """
    took: list[float] = []
    end = time.perf_counter() + seconds
    numbers = iter(range(count))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.sleep(pace * random.random())
        while (began := time.perf_counter()) < end and next(numbers, None) is not None:
            writer.write(make())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b"\r\ncontent-length:" not in head:
                raise SystemExit(head.decode())
            length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            answer = await reader.readexactly(length)
            if not head.startswith((b"http/1.1 200", b"http/1.1 201", b"http/1.1 202")):
                raise SystemExit(f"{head.decode()}{answer.decode()}")
            took.append(time.perf_counter() - began)
            if pace:
                await asyncio.sleep(pace - took[-1])
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(took) / (time.perf_counter() - began), took
