"""PgQueuer: `install`, `publish N`, `work`."""

from __future__ import annotations

import asyncio
import os
import sys

import aiohttp
import asyncpg
import django
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

django.setup()


async def work() -> None:
    from bench.peers.request import post_async

    connection = await asyncpg.connect(os.environ["BENCH_DATABASE"])
    queue = PgQueuer(AsyncpgDriver(connection))
    async with aiohttp.ClientSession() as session:

        @queue.entrypoint("post")
        async def post(job: Job) -> None:
            await post_async(session)

        await queue.run(batch_size=10)


async def publish(count: int) -> None:
    queries = Queries(AsyncpgDriver(await asyncpg.connect(os.environ["BENCH_DATABASE"])))
    await queries.enqueue(["post"] * count, [None] * count, [0] * count)


async def install() -> None:
    await Queries(AsyncpgDriver(await asyncpg.connect(os.environ["BENCH_DATABASE"]))).install()


if __name__ == "__main__":
    match sys.argv[1]:
        case "install":
            asyncio.run(install())
        case "publish":
            asyncio.run(publish(int(sys.argv[2])))
        case "work":
            asyncio.run(work())
