"""Redis behind TLS, and a Redis whose primary changes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from celery import current_app
from django.conf import settings
from django.test import Client, override_settings
from kombu import Connection
from redis.asyncio import Redis as AsyncRedis

from common.redis import client as redis_client, sentinels
from config.embedded.redis import Redis as EmbeddedRedis
from config.environment import engine_urls
from demo.child import Child
from demo.ports import free_port
from tests.broken_line import Line
from tests.process.conftest import wait_until
from tests.process.notifications.test_limits import environment
from tests.process.notifications.test_pools import command
from tests.unit.notifications.net.test_tls import Authority


@contextmanager
def behind_tls(authority: Authority) -> Iterator[int]:
    """The port of a TLS proxy for "localhost" in front of the tests' Redis."""
    context, path = authority.context("localhost"), urlsplit(settings.REDIS_URL).path
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as opened:

        def take() -> None:
            with suppress(OSError):
                while True:
                    raw = listener.accept()[0]
                    threading.Thread(target=serve, args=[raw], daemon=True).start()

        def serve(raw: socket.socket) -> None:
            with (
                suppress(OSError),
                context.wrap_socket(raw, server_side=True) as near,
                socket.socket(socket.AF_UNIX) as far,
            ):
                far.connect(path)
                opened.callback(near.close)
                while asked := near.recv(65_536):
                    far.sendall(asked)
                    near.sendall(far.recv(65_536))

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_broker_and_counts_verify_the_certificate_of_redis(broker: redis.Redis, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with behind_tls(authority) as port:
        right = engine_urls.redis(f"rediss://localhost:{port}/0?ssl_ca_certs={authority.bundle}")
        assert redis_client.client(right).ping()
        with Connection(engine_urls.broker(right)) as connection:
            assert connection.default_channel.client.ping()
        for wrong in (f"rediss://localhost:{port}/0", f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={authority.bundle}"):
            url = engine_urls.redis(wrong)
            with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                redis_client.client(url).ping()
            with (
                Connection(engine_urls.broker(url)) as connection,
                pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"),
            ):
                connection.connect()


@contextmanager
def server(folder: Path, save: str = "") -> Iterator[redis.Redis]:
    """A Redis of its own on a port."""
    port = free_port()
    folder.mkdir()
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        save,
        "--repl-diskless-sync-delay",
        "0",
    ]
    with subprocess.Popen([EmbeddedRedis(folder).locate(), *options], stdout=subprocess.DEVNULL) as process:
        try:
            client = redis.Redis(port=port)
            wait_until(lambda: _answers(client))
            yield client
        finally:
            process.kill()


def _answers(client: redis.Redis) -> bool:
    with suppress(redis.RedisError):
        return bool(client.ping())
    return False


def _port(client: redis.Redis) -> int:
    return int(client.connection_pool.connection_kwargs["port"])


@pytest.mark.django_db(transaction=True)
def test_a_worker_outlives_a_failover_and_works_on_with_the_new_primary(tmp_path: Path) -> None:
    with server(tmp_path / "a") as first, server(tmp_path / "b") as second:
        second.replicaof("127.0.0.1", str(_port(first)))
        wait_until(lambda: second.info("replication")["master_link_status"] == "up")
        line = Line(("127.0.0.1", _port(first)))  # the name that follows the primary
        line.mend()
        url = f"redis://127.0.0.1:{line.port}/0"
        counts = redis_client.client(url)
        counts.set("counted", 1)
        lines: list[str] = []
        worker = Child(
            "worker",
            [*command("threads", 1), "--loglevel", "INFO"],
            environment={**environment(), "REDIS_URL": url},
            on_line=lambda text, _: lines.append(text),
        )
        worker.start()
        try:
            wait_until(lambda: first.keys("*served-queue:maintenance"))
            pid = worker.pid
            second.replicaof("NO", "ONE")
            first.replicaof("127.0.0.1", str(_port(second)))  # open connections stay open
            wait_until(lambda: any("ReadOnlyError" in text for text in lines))
            with pytest.raises(redis.exceptions.ReadOnlyError):
                counts.set("counted", 2)
            line.target = ("127.0.0.1", _port(second))
            assert counts.set("counted", 2)
            with Connection(
                f"redis://127.0.0.1:{_port(second)}/0", transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS
            ) as outside:
                current_app.send_task("work.rescue", connection=outside, queue="maintenance")
            queue = "carillon:maintenance"
            assert second.llen(queue) <= 1
            wait_until(lambda: not second.llen(queue))
            assert (worker.pid, worker.exit_status()) == (pid, None)
        finally:
            worker.stop(10.0)
            line.cut()


@contextmanager
def sentinel(folder: Path, primary: int) -> Iterator[int]:
    """The port of a Sentinel that alone decides, a second after `primary` is away."""
    port = free_port()
    folder.mkdir()
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {primary} 1\n"
        "sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n"
    )
    command = [EmbeddedRedis(folder).locate(), config, "--sentinel"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            asked = redis.Redis(port=port)
            wait_until(lambda: _answers(asked))
            wait_until(lambda: asked.sentinel_master("mymaster")["num-slaves"] == 1)
            yield port
        finally:
            process.kill()


@pytest.mark.django_db(transaction=True)
def test_sentinels_lead_worker_counts_and_pulls_to_the_new_primary(tmp_path: Path) -> None:
    with server(tmp_path / "a") as first, server(tmp_path / "b") as second:
        second.replicaof("127.0.0.1", str(_port(first)))
        wait_until(lambda: second.info("replication")["master_link_status"] == "up")
        with sentinel(tmp_path / "s", _port(first)) as port:
            away = free_port()  # of the two Sentinels one is away
            url = engine_urls.redis(f"redis://mymaster/0?sentinels=127.0.0.1:{away},127.0.0.1:{port}")
            surroundings = {**environment(), "REDIS_URL": url}
            counts = redis_client.client(url)
            worker = Child("worker", command("threads", 1), environment=surroundings)
            worker.start()
            try:
                assert counts.set("counted", 1)
                wait_until(lambda: first.keys("*served-queue:maintenance"))
                pid = worker.pid
                first.shutdown(nosave=True)
                wait_until(lambda: second.info("replication")["role"] == "master")
                wait_until(lambda: _answers(counts))
                assert counts.set("counted", 2) and second.get("counted") == b"2"
                assert asyncio.run(_length(url, "carillon:none")) == 0
                options = settings.CELERY_BROKER_TRANSPORT_OPTIONS | {"redis_url": url}
                with Connection(engine_urls.broker(url), transport_options=options) as broker:
                    current_app.send_task("work.rescue", connection=broker, queue="maintenance")
                wait_until(lambda: second.keys("*served-queue:maintenance") and not second.llen("carillon:maintenance"))
                assert (worker.pid, worker.exit_status()) == (pid, None)
            finally:
                worker.stop(10.0)


async def _length(url: str, key: str) -> int:
    async with AsyncRedis.from_url(url, **sentinels.async_options(url)) as asked:
        return int(await asked.llen(key))


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_cannot_save_is_named_and_ends_no_worker(tmp_path: Path, client: Client) -> None:
    with server(tmp_path / "redis", save="3600 1") as broken:
        url = f"redis://127.0.0.1:{_port(broken)}/0"
        lines: list[str] = []
        surroundings = {**environment(), "REDIS_URL": url, "CARILLON_VAR": str(tmp_path / "var")}
        workers = [
            Child(name, command("threads", 1), environment=surroundings, on_line=lambda text, _: lines.append(text))
            for name in ("before", "while")
        ]
        probed = [sys.executable, "-m", "common.probe", "worker"]

        def is_well() -> bool:
            done = subprocess.run(probed, env=os.environ | surroundings, cwd=settings.BASE_DIR, check=False)
            return done.returncode == 0

        try:
            workers[0].start()
            wait_until(lambda: broken.keys("*served-queue:maintenance"))
            assert is_well()
            (tmp_path / "redis" / "dump.rdb").mkdir()  # a file cannot take its place
            broken.bgsave()
            wait_until(lambda: broken.info("persistence")["rdb_last_bgsave_status"] == "err")
            broken.client_kill_filter(_type="normal")
            workers[1].start()
            wait_until(lambda: sum("MISCONF" in text for text in lines) >= 3)
            with caches_of(url):
                answer = client.get("/healthz/queues")
                assert answer.status_code == 503
                assert answer.content.startswith(b"Redis cannot save to its disk (MISCONF)")
            done = subprocess.run(
                [sys.executable, "-m", "config.preflight"],
                env=os.environ | surroundings,
                cwd=settings.BASE_DIR,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 1
            assert b"cannot save to its disk: make room on it" in done.stderr
            assert is_well()
            assert [worker.exit_status() for worker in workers] == [None, None]
            (tmp_path / "redis" / "dump.rdb").rmdir()
            broken.bgsave()
            wait_until(lambda: broken.info("persistence")["rdb_last_bgsave_status"] == "ok")
            broken.delete(*broken.keys("*served-queue:*"))
            wait_until(lambda: broken.keys("*served-queue:maintenance"))
            assert [worker.exit_status() for worker in workers] == [None, None]
        finally:
            for worker in workers:
                worker.stop(10.0)


@contextmanager
def caches_of(url: str) -> Iterator[None]:
    """Use the Redis of this URL as Django's cache."""
    with override_settings(CACHES={"default": {**settings.CACHES["default"], "LOCATION": url}}):
        yield
