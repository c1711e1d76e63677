"""Procrastinate: `install`, `publish N`, `work [sync|async]`."""

from __future__ import annotations

import asyncio
import os
import sys

import aiohttp
import django
import procrastinate

django.setup()

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["BENCH_DATABASE"]))
_session: aiohttp.ClientSession


@app.task(name="post", queue="peer")
async def post() -> None:
    from bench.peers.request import post_async

    await post_async(_session)


async def work() -> None:
    global _session
    async with app.open_async(), aiohttp.ClientSession() as _session:
        await app.run_worker_async(queues=["peer"], concurrency=16)


async def publish(count: int) -> None:
    async with app.open_async():
        await post.batch_defer_async(*[{}] * count)


async def install() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


if __name__ == "__main__":
    match sys.argv[1]:
        case "install":
            asyncio.run(install())
        case "publish":
            asyncio.run(publish(int(sys.argv[2])))
        case "work":
            asyncio.run(work())
