"""`script/bench live [--sockets N] [--events N] [--seconds N] [--json]`: idle sockets, and how soon they show news.

So many sockets of 100 people to one web process, against a bare consumer of Django Channels (see `bench.bare_live`) in
the same run: the memory of each socket, the connections to the database while nothing happens, and the CPU of a minute
of that. Then `--events` messages a second reach inboxes, each of a person who has one socket more: the seconds from the
commit of the delivery until that socket says so. At the peer they are those from sending a text to its group.
"""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import subprocess
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import uvloop

from bench.environment import arguments, children_environment, environment, report
from bench.sockets import Client
from bench.web import Web, p99

Event = Callable[[int], Awaitable[tuple[str, float]]]
"""Causes the event of a number; returns whose it was, and when it was there."""

PEOPLE = 100
_AT_ONCE = 10  # sockets that are being opened
_IDLE = 3.0  # seconds
_REST = 150  # seconds
_SETTLED = """
UPDATE notifications_delivery SET state = 'delivered', settled_at = now() WHERE id = %s
RETURNING (SELECT user_id FROM notifications_notification WHERE id = notification_id)
"""
_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%web%'"
)


def main() -> None:
    parser = arguments("live")
    parser.add_argument("--sockets", type=int, default=5_000)
    parser.add_argument("--events", type=int, default=100, help="a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    wanted = options.sockets + 1_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with environment():
        from django.db import connections
        from django.test import Client as Browser

        from bench import rows
        from bench.peers.__main__ import environment_of_peers

        people = [rows.make_user() for _ in range(PEOPLE)]
        cookies = []
        for person in people:
            browser = Browser()
            browser.force_login(person)
            cookies.append(browser.cookies.output(["key"], header="", sep=";").strip())
        variables = children_environment() | {"LOG_LEVEL": "WARNING"}
        with Web("config.asgi:application", variables) as web:
            settle = _Settled([rows.make_channel(person) for person in people], round(options.events * options.seconds))
            addresses = [(cookie, "/live/") for cookie in cookies]
            ours = uvloop.run(measured(web, addresses, [str(one.pk) for one in people], settle, options))
            settle.thread.submit(connections.close_all).result()
        python = environment_of_peers()
        with Web("bench.bare_live:application", variables, "--ws", "wsproto", python=python) as web:
            groups = [str(number) for number in range(PEOPLE)]
            teller = subprocess.Popen(
                [python, "-m", "bench.bare_live"], stdin=subprocess.PIPE, env=os.environ | variables
            )
            try:
                bare = uvloop.run(measured(web, [("", f"/?{one}") for one in groups], groups, _told(teller), options))
            finally:
                teller.stdin.close()  # type: ignore[union-attr]
                teller.wait(10)
    ratios = {
        "memory of a socket": round(bare["KB a socket"] / ours["KB a socket"], 1),
        "p99": round(bare["p99 ms"] / ours["p99 ms"], 2),
    }
    report("live", 0, ours, {"bare consumer": bare}, ratios)


class _Settled:
    """Ends the next pending delivery as a worker does after its answer; returns whose it was."""

    def __init__(self, inboxes: list[Any], count: int) -> None:
        from bench import rows

        each = count // len(inboxes) + 1
        by_person = [rows.make_deliveries(inbox, each) for inbox in inboxes]
        self._ids = deque(one for several in zip(*by_person, strict=True) for one in several)
        self.thread = ThreadPoolExecutor(1)

    async def __call__(self, _: int) -> tuple[str, float]:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self._settle)

    def _settle(self) -> tuple[str, float]:
        from django.db import connection, transaction

        from common.redis import live_wakes

        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger asks for its lease
            cursor.execute(_SETTLED, [self._ids.popleft()])
            [person] = cursor.fetchone()
        committed = time.perf_counter()
        live_wakes.wake(person)
        return str(person), committed


def _told(teller: subprocess.Popen[bytes]) -> Event:
    async def tell(number: int) -> tuple[str, float]:
        group, now = str(number % PEOPLE), time.perf_counter()
        teller.stdin.write(f'{group} {{"unread": {number // PEOPLE + 1}}}\n'.encode())  # type: ignore[union-attr]
        teller.stdin.flush()  # type: ignore[union-attr]
        return group, now

    return tell


async def measured(
    web: Web, addresses: list[tuple[str, str]], names: list[str], event: Event, options: Any
) -> dict[str, Any]:
    """Open the sockets, wait, and cause events."""
    for cookie, path in addresses[:_AT_ONCE]:  # what the first sockets load is not theirs
        await (await Client.connect(web.port, cookie, path)).close()
    await asyncio.sleep(2)
    before, opening = web.memory(), asyncio.Semaphore(_AT_ONCE)

    async def open_one(number: int) -> Client:
        cookie, path = addresses[number % PEOPLE]
        async with opening:
            return await Client.connect(web.port, cookie, path)

    clients = await asyncio.gather(*(open_one(number) for number in range(options.sockets - PEOPLE)))
    reading = [asyncio.create_task(_read(client)) for client in clients]
    await asyncio.sleep(5)
    memory, cpu = web.memory(), web.cpu()
    await asyncio.sleep(_IDLE)
    found = {
        "KB a socket": round((memory - before) * 1024 / len(clients), 1),
        "idle CPU %": round((web.cpu() - cpu) / _IDLE * 100, 1),
        "connections to the database": await _connections_at_rest(),
    }
    watched = {name: await open_one(number) for number, name in enumerate(names)}
    sent: defaultdict[str, list[float]] = defaultdict(list)
    took: list[float] = []
    reading += [asyncio.create_task(_time(client, sent[name], took)) for name, client in watched.items()]
    await asyncio.sleep(2)
    began, cpu, count = time.perf_counter(), web.cpu(), round(options.events * options.seconds)
    for number in range(count):
        await asyncio.sleep(began + number / options.events - time.perf_counter())
        name, at = await event(number)
        sent[name].append(at)
    spent = time.perf_counter() - began
    await asyncio.sleep(3)
    for task in reading:
        task.cancel()
    await asyncio.gather(*(client.close() for client in [*clients, *watched.values()]))
    return found | {
        "events a second": round(count / spent, 1),
        "not seen": count - len(took),
        "p50 ms": round(statistics.median(took) * 1000, 1),
        "p99 ms": round(p99(took) * 1000, 1),
        "CPU %": round((web.cpu() - cpu) / spent * 100, 1),
    }


async def _read(client: Client) -> None:
    while True:
        await client.receive()


async def _time(client: Client, sent: list[float], took: list[float]) -> None:
    """Each message says how many there are by now."""
    seen = 0
    while True:
        unread = int((await client.receive()).get("unread") or 0)
        now = time.perf_counter()
        took += [max(0.0, now - at) for at in sent[seen:unread]]
        seen = max(seen, min(unread, len(sent)))


async def _connections_at_rest() -> int:
    """Those of the pool: it closes one a minute while none is needed, and no socket holds any."""
    for _ in range(_REST):
        if not (count := await asyncio.to_thread(_connections)):
            return 0
        await asyncio.sleep(1)
    return count


def _connections() -> int:
    """Of the web process."""
    from django.db import connection

    try:
        with connection.cursor() as cursor:
            cursor.execute(_CONNECTIONS)
            [count] = cursor.fetchone()
    finally:
        connection.close()
    return int(count)


if __name__ == "__main__":
    main()
