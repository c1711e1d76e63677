"""`script/bench pings [--watches N] [--clients N] [--seconds N] [--rounds N] [--spike N] [--json]`: durable pings.

One web process, as it is by default, against one of a bare Django view with the statements of Healthchecks (see
`bench.bare_pings`), in interleaved rounds: pings a second, CPU of the web process for each, and how long one takes of a
few hundred a second. Then `--spike` pings a second come for ten seconds to ours, while a page is asked for again and
again: how many were answered with 200, how many of these are not in the table, and how long the page took.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import time
from collections import Counter
from typing import Any
from uuid import UUID

import uvloop

from bench.environment import arguments, children_environment, environment, report
from bench.web import Web, load, measure, p99, request

SPIKE = 10.0  # seconds
_CALM = 200  # pings a second


def main() -> None:
    parser = arguments("pings")
    parser.add_argument("--watches", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spike", type=int, default=4_000, help="pings a second, for ten seconds")
    options = parser.parse_args()
    with environment():
        from django.test import Client

        from bench import bare_pings, rows
        from watches.models import Ping, Watch

        rows.make_watches(options.watches)
        client = Client()
        client.force_login(Watch.objects.all()[0].user)
        cookie = client.cookies.output(["key"], header="", sep=";").strip()
        tokens = list(Watch.objects.values_list("token", flat=True))
        random.shuffle(tokens)
        bare_pings.make_checks(tokens)
        turn = itertools.cycle(tokens)
        variables = children_environment() | {"LOG_LEVEL": "WARNING", "PINGS_PER_MINUTE": "1000000"}
        # Its threads wait for commits at the same time, as the processes of a stock installation do.
        with (
            Web("config.asgi:application", variables) as ours,
            Web("bench.bare_pings:application", variables, "--interface", "wsgi") as bare,
        ):
            webs = {"ours": ours, "bare view": bare}
            found, ratios = measure(webs, {"pings": dict.fromkeys(webs, lambda: _ping(next(turn)))}, options)
            for name, web in webs.items():
                calm = load(web.port, lambda: _ping(next(turn)), 10, options.seconds, pace=10 / _CALM)
                found[name]["p50 ms, calm"] = round(statistics.median(uvloop.run(calm)[1]) * 1000, 1)
            before = Ping.objects.count()
            spike = uvloop.run(_spike(ours.port, options, turn, cookie))
            answered = spike.pop("200")
            spike |= {"answered 200": answered, "lost": max(0, answered - (Ping.objects.count() - before))}
    report("pings", 0, found.pop("ours") | spike, found, ratios)


def _ping(token: UUID) -> bytes:
    return request("GET", f"/ping/{token}", "User-Agent: curl/8.14.1\r\n")


async def _spike(port: int, options: argparse.Namespace, turn: Any, cookie: str) -> dict[str, Any]:
    """Send the pings when they are due, each of its connections the next one once it has an answer."""
    clients, count = 400, round(options.spike * SPIKE)
    statuses: Counter[str] = Counter()
    numbers, began = iter(range(count)), time.perf_counter()
    pages: list[float] = []
    is_over = False

    async def ask(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], what: bytes) -> str:
        reader, writer = streams
        writer.write(what)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]))
        return head[9:12].decode()

    async def pings() -> None:
        streams = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            await asyncio.sleep(began + number / options.spike - time.perf_counter())
            statuses[await ask(streams, _ping(next(turn)))] += 1

    async def page() -> None:
        while not is_over:
            streams = await asyncio.open_connection("127.0.0.1", port)
            asked = time.perf_counter()
            if await ask(streams, request("GET", "/watches/", f"Cookie: {cookie}\r\n")) != "200":
                raise SystemExit("The page failed")
            pages.append(time.perf_counter() - asked)
            streams[1].close()
            await asyncio.sleep(0.05)

    asked = asyncio.create_task(page())
    await asyncio.gather(*(pings() for _ in range(clients)))
    took, is_over = time.perf_counter() - began, True
    await asked
    return {
        "spike: seconds": round(took, 1),
        "200": statuses["200"],
        "other answers": count - statuses["200"],
        "page p50 ms": round(statistics.median(pages) * 1000, 1),
        "page p99 ms": round(p99(pages) * 1000, 1),
    }


if __name__ == "__main__":
    main()
