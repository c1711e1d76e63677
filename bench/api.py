"""`script/bench api [--seconds N] [--rounds N] [--clients N] [--json]`: reads and creates of schedules over the API.

The peer is a web process of the same kind with bare Django views that make the same read and the same insert: no
middleware, token, limit, idempotency key, form or mirror. Both run at once, and take turns. `MiB` is the resident
memory of the web process at the end, `grown` how much of it came after the first round.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Callable
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
        requests: dict[str, dict[str, Callable[[], bytes]]] = {
            "reads": {
                "ours": lambda: _request("GET", f"/api/v1/schedules/{schedule.id}", head),
                "bare view": lambda: _request("GET", f"/read/{schedule.id}", bare),
            },
            "writes": {
                "ours": lambda: _create(*next(turn)),
                "bare view": lambda: _request("POST", f"/create/{schedule.id}", bare, body),
            },
        }
        webs = {
            "ours": Web(web_command, "config.asgi:application", variables),
            "bare view": Web(web_command, "bench.bare_views:application", variables),
        }
        found: dict[str, dict[str, Any]] = {name: {} for name in webs}
        try:
            for web in webs.values():
                web.wait()
            for kind, made in requests.items():
                rates: dict[str, list[float]] = {name: [] for name in webs}
                times: dict[str, list[float]] = {name: [] for name in webs}
                memory = {}
                for number in range(options.rounds + 1):
                    for name, web in webs.items():
                        seconds = options.seconds if number else 1.0  # the first round warms up
                        load = _load(web.port, made[name], options.clients, seconds)
                        rate, took = uvloop.run(load)
                        if number:
                            rates[name].append(rate)
                            times[name] += took
                        else:
                            memory[name] = web.memory()
                for name, web in webs.items():
                    found[name] |= {
                        f"{kind} a second": round(statistics.median(rates[name])),
                        f"{kind} p99 ms": round(statistics.quantiles(times[name], n=100)[98] * 1000, 1),
                        f"{kind} MiB": round(web.memory()),
                        f"{kind} grown": round(web.memory() - memory[name], 1),
                    }
        finally:
            for web in webs.values():
                web.child.stop(3.0)
    own = found.pop("ours")
    peer = found["bare view"]
    ratios = {kind: round(own[f"{kind} a second"] / peer[f"{kind} a second"], 2) for kind in ("reads", "writes")}
    report("api", 0, own, found, ratios)


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


def _create(head: str, body: str) -> bytes:
    return _request("POST", "/api/v1/schedules", f"{head}Idempotency-Key: {uuid4().hex}\r\n", body)


def _request(method: str, path: str, head: str, body: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}{length}\r\n{body}".encode()


async def _load(port: int, make: Callable[[], bytes], clients: int, seconds: float) -> tuple[float, list[float]]:
    """Requests a second, and the seconds that each took."""
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < end:
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
