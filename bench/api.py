"""`script/bench api [--seconds N] [--rounds N] [--clients N] [--requests N] [--json]`: reads and creates of schedules.

The peer is a web process of stock Django with bare views that make the same read and the same insert: no middleware,
token, limit, idempotency key, form or mirror. Both take turns; a ratio is the median over the rounds. `CPU ms` is that
of the web process for each request. `--requests` instead makes so many requests of our API, half of them creates, and
reports the resident memory of the web process at 10, 50 and 100 % of them.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvloop

from bench.environment import children_environment, environment, report


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench api")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=0, help="measure memory over so many requests, not the speed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with environment():
        from bench import rows
        from config.processes import web_command
        from people import tokens
        from schedules.firing import fire

        # One person for each client: creates of one person wait for each other, because of the limit.
        people = []
        for _ in range(options.clients):
            person = rows.make_user()
            channel = rows.make_channel(person)
            token = tokens.create(person, "Bench", list(tokens.SCOPES), None)[1]
            body = json.dumps(
                {"title": "Water the plants", "timing": {"daily": {"time": "09:00"}}, "channels": [str(channel.id)]}
            )
            people.append((f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n", body))
        turn = itertools.cycle(people)
        schedule = rows.make_schedule(person, [channel], "daily", {"time": "09:00"}, fire.read_clock().now)
        head, body = people[-1]
        variables = children_environment() | {
            "API_REQUESTS_PER_MINUTE": "10000000",
            "MOST_SCHEDULES": "10000000",
            "LOG_LEVEL": "WARNING",
        }
        bare = f"X-User: {person.pk}\r\n"
        requests: Requests = {
            "reads": {
                "ours": lambda: _request("GET", f"/api/v1/schedules/{schedule.id}", head),
                "bare view": lambda: _request("GET", f"/read/{schedule.id}", bare),
            },
            "writes": {
                "ours": lambda: _create(*next(turn)),
                "bare view": lambda: _request("POST", f"/create/{schedule.id}", bare, body),
            },
        }
        ours = Web(web_command, "config.asgi:application", variables)
        try:
            ours.wait()
            if options.requests:
                _report_memory(ours, requests, options)
                return
            bare_view = Web(web_command, "bench.bare_views:application", variables)
            try:
                bare_view.wait()
                _report_speed({"ours": ours, "bare view": bare_view}, requests, options)
            finally:
                bare_view.child.stop(3.0)
        finally:
            ours.child.stop(3.0)


Requests = dict[str, dict[str, Callable[[], bytes]]]


def _report_speed(webs: dict[str, Web], requests: Requests, options: argparse.Namespace) -> None:
    found: dict[str, dict[str, Any]] = {name: {} for name in webs}
    ratios = {}
    for kind, made in requests.items():
        for name, web in webs.items():  # warm up
            uvloop.run(_load(web.port, made[name], options.clients, seconds=1.0))
        rounds: dict[str, list[Round]] = {name: [] for name in webs}
        for _ in range(options.rounds):
            for name, web in webs.items():
                cpu = web.cpu()
                rate, took = uvloop.run(_load(web.port, made[name], options.clients, options.seconds))
                rounds[name].append(Round(rate, (web.cpu() - cpu) / len(took), took))
        for name, each in rounds.items():
            found[name] |= {
                f"{kind} a second": round(statistics.median(one.rate for one in each)),
                f"{kind} CPU ms": round(statistics.median(one.cpu for one in each) * 1000, 2),
                f"{kind} p99 ms": round(_p99([took for one in each for took in one.took]) * 1000, 1),
            }
        pairs = list(zip(rounds["ours"], rounds["bare view"], strict=True))
        ratios[kind] = round(statistics.median(own.rate / peer.rate for own, peer in pairs), 2)
        ratios[f"{kind} CPU"] = round(statistics.median(peer.cpu / own.cpu for own, peer in pairs), 2)
    report("api", 0, found.pop("ours"), found, ratios)


def _report_memory(web: Web, requests: Requests, options: argparse.Namespace) -> None:
    made = [kind["ours"] for kind in requests.values()]
    turn = itertools.cycle(made)
    found: dict[str, float] = {}
    done = 0
    for percent in (10, 50, 100):
        count = options.requests * percent // 100 - done
        rate, _ = uvloop.run(_load(web.port, lambda: next(turn)(), options.clients, count=count))
        done += count
        found |= {f"MiB at {percent} %": round(web.memory(), 1), f"a second to {percent} %": round(rate)}
    report("api", 0, found, {}, {})


def _p99(took: list[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


@dataclass(frozen=True, slots=True)
class Round:
    """Requests a second, CPU seconds of the web process for each, and the seconds that each took."""

    rate: float
    cpu: float
    took: list[float]


class Web:
    """A web process on a port of its own."""

    def __init__(self, command: Callable[[str, int], list[str]], application: str, variables: dict[str, str]) -> None:
        import socket

        from config.processes import Child

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        arguments = command("127.0.0.1", self.port)
        arguments[arguments.index("config.asgi:application")] = application
        self.child = Child("web", [*arguments, "--no-access-log", "--log-level", "warning"], environment=variables)
        self.child.start()

    def wait(self) -> None:
        import socket

        deadline = time.monotonic() + 60
        while self.child.exit_status() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("The web process did not start")

    def memory(self) -> float:
        """Resident memory in MiB."""
        lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def cpu(self) -> float:
        """CPU seconds that it has used."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _create(head: str, body: str) -> bytes:
    return _request("POST", "/api/v1/schedules", f"{head}Idempotency-Key: {uuid4().hex}\r\n", body)


def _request(method: str, path: str, head: str, body: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}{length}\r\n{body}".encode()


async def _load(
    port: int, make: Callable[[], bytes], clients: int, seconds: float = math.inf, count: int = sys.maxsize
) -> tuple[float, list[float]]:
    """Make requests for so many seconds, or so many. Returns how many a second, and the seconds that each took."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    numbers = iter(range(count))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < end and next(numbers, None) is not None:
            writer.write(make())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b"\r\ncontent-length:" not in head:
                raise SystemExit(head.decode())
            length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            answer = await reader.readexactly(length)
            if not head.startswith((b"http/1.1 200", b"http/1.1 201")):
                raise SystemExit(f"{head.decode()}{answer.decode()}")
            took.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(took) / (time.perf_counter() - began), took


if __name__ == "__main__":
    main()
