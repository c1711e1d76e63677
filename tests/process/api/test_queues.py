"""Programs that pull a queue from a real web process: at once, killed, and waiting."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from carillon_client import Client
from django.conf import settings
from redis import Redis

from notifications.models import Delivery
from people import tokens
from tests.make import make_channel, make_delivery, make_user
from tests.process.conftest import wait_until
from tests.process.web import Web

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT = Path(__file__).parents[3] / "client"

# Acknowledges what it pulls, and writes its ids; it holds each batch for a moment, and the one of that number for good.
PULLER = """
import sys, time
from carillon_client import Client
from django.conf import settings
from redis import Redis
url, token, queue, last = sys.argv[1:]
client, held = Client(url, token), 0
while True:
    messages = client.queues.pull(queue, batch_size=5, visibility=8.0, wait=5.0)
    held += 1
    print("held", *[one["id"] for one in messages], flush=True)
    time.sleep(600 if held == int(last) else 0.2)
    for one in client.queues.ack(queue, [one["lease_id"] for one in messages]):
        print(one["result"], flush=True)
"""


def waiting() -> int:
    """How many pulls of the web process wait in Redis."""
    with Redis.from_url(settings.REDIS_URL) as client:
        return sum(one["cmd"] == "xread" and "b" in one["flags"] for one in client.client_list())


class Queue:
    """A person's queue and the program that uses it."""

    def __init__(self, web: Web, **settings: int) -> None:
        self.person = make_user()
        self.channel = make_channel(self.person, "queue", address=settings)
        self.id = str(self.channel.id)
        self.url = f"http://127.0.0.1:{web.port}"
        self.token = tokens.create(self.person, "Puller", list(tokens.SCOPES), None)[1]

    def client(self) -> Client:
        return Client(self.url, self.token)

    def puller(self, output: Path, last: int) -> subprocess.Popen[bytes]:
        with output.open("wb") as written:
            return subprocess.Popen(
                [sys.executable, "-c", PULLER, self.url, self.token, self.id, str(last)],
                stdout=written,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT)},
            )


def test_two_pullers_of_which_one_is_killed_with_its_lease_lose_and_double_nothing(web: Web, tmp_path: Path) -> None:
    queue = Queue(web)
    made = {str(make_delivery(queue.channel).id) for _ in range(60)}
    pullers = [queue.puller(tmp_path / name, last) for name, last in (("killed", 3), ("lives", 0))]
    try:
        wait_until(lambda: (tmp_path / "killed").read_text().count("held") >= 3)
        pullers[0].send_signal(signal.SIGKILL)
        pullers[0].wait()
        wait_until(lambda: not Delivery.objects.exclude(state="delivered").exists())
    finally:
        for puller in pullers:
            puller.kill()
            puller.wait()
    lines = [(tmp_path / name).read_text().splitlines() for name in ("killed", "lives")]
    held = [[key for line in one if line.startswith("held") for key in line.split()[1:]] for one in lines]
    assert set(held[0] + held[1]) == made
    twice = set(held[0]) & set(held[1])
    assert len(held[0] + held[1]) - len(twice) == 60
    assert len(twice) <= 5, "only what the killed one held came again"
    outcomes = list(Delivery.objects.values_list("history__outcome", flat=True))
    assert outcomes.count("delivered") == 60
    assert outcomes.count("lost") == len(twice)


def test_a_waiting_pull_answers_within_200_ms_of_a_new_message(web: Web) -> None:
    with ThreadPoolExecutor(1) as pool:
        queue = Queue(web)
        with queue.client() as client, queue.client() as sender:
            times = []
            for number in range(6):
                pulled = pool.submit(lambda: (client.queues.pull(queue.id, wait=20.0), time.monotonic()))
                wait_until(lambda: waiting() == 1)
                started = time.monotonic()
                sent = sender.notifications.send(f"Message {number}", [queue.id])
                [message], answered = pulled.result()
                times.append(answered - started)
                assert [message["id"]] == sent["delivery_ids"]
                assert client.queues.ack(queue.id, [message["lease_id"]])[0]["result"] == "acked"
    assert min(times) < 0.2 and sorted(times)[len(times) // 2] < 2, times


def test_twenty_idle_pulls_hold_no_connection_and_keep_nobody_waiting(web: Web) -> None:
    # The pool has 16 connections.
    with ThreadPoolExecutor(20) as pool:
        queue = Queue(web)

        def idle(_: int) -> tuple[Any, float]:
            with queue.client() as client:
                started = time.monotonic()
                return client.queues.pull(queue.id, wait=8.0), time.monotonic() - started

        idle_ones = [pool.submit(idle, number) for number in range(20)]
        wait_until(lambda: waiting() == 20)
        with queue.client() as client:
            took = []
            for _ in range(20):
                started = time.monotonic()
                client.me()
                took.append(time.monotonic() - started)
        assert not any(one.done() for one in idle_ones)
        found = [one.result() for one in idle_ones]
    assert sorted(took)[10] < 2, took
    assert [messages for messages, _ in found] == [[]] * 20
    assert all(7.5 < seconds < 30 for _, seconds in found), found


def test_a_program_that_goes_while_it_waits_takes_no_message_with_it(web: Web) -> None:
    queue = Queue(web)
    asked = http.client.HTTPConnection("127.0.0.1", web.port)
    headers = {"Authorization": f"Bearer {queue.token}", "Content-Type": "application/json"}
    asked.request("POST", f"/api/v1/queues/{queue.id}/pull", '{"wait_ms": 20000}', headers)
    wait_until(lambda: waiting() == 1)
    asked.close()
    wait_until(lambda: waiting() == 0, within=10.0)  # of the twenty seconds that it would have waited
    with queue.client() as client:
        client.notifications.send("Hello", [queue.id])
        [message] = client.queues.pull(queue.id)
    assert message["attempts"] == 1


def test_a_server_that_stops_answers_who_waits_at_once(django_db_setup: None) -> None:
    """After 5 s it would cut the connection."""
    with Web() as own:
        queue = Queue(own)
        asked = http.client.HTTPConnection("127.0.0.1", own.port, timeout=60)
        headers = {"Authorization": f"Bearer {queue.token}", "Content-Type": "application/json"}
        asked.request("POST", f"/api/v1/queues/{queue.id}/pull", '{"wait_ms": 20000}', headers)
        wait_until(lambda: waiting() == 1)
        os.kill(own.child.pid, signal.SIGTERM)
        answer = asked.getresponse()
        assert (answer.status, json.load(answer)) == (200, {"items": []})
        asked.close()


def test_a_waiting_pull_finds_its_message_while_redis_is_away() -> None:
    with Web() as own, ThreadPoolExecutor(1) as pool:
        queue = Queue(own)
        with queue.client() as client:
            pulled = pool.submit(client.queues.pull, queue.id, wait=15.0)
            wait_until(lambda: waiting() == 1)
            own.redis.cut()
            make_delivery(queue.channel)
            assert len(pulled.result()) == 1


def test_the_command_prints_each_message_once_and_acknowledges_it(web: Web, tmp_path: Path) -> None:
    queue = Queue(web)
    made = [str(make_delivery(queue.channel).id) for _ in range(12)]
    done = subprocess.run(
        [sys.executable, "-m", "carillon_client", "pull", "Queue", "--batch", "5"],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CLIENT),
            "CARILLON_URL": queue.url,
            "CARILLON_TOKEN": queue.token,
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == made
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}
