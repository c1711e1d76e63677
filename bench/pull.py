"""`script/bench pull [--messages N] [--clients N] [--queues N] [--json]`: messages through a queue, over HTTP.

Programs with one token send messages straight to a queue, 100 a call, pull them in batches of 10 and of 100, and
acknowledge each batch, until the queue is empty. One web process, its limits as they are by default, in an installation
of so many queues. `CPU ms` is that of the web process for each message. There is no peer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from typing import Any

from bench.environment import arguments, children_environment, environment, report
from bench.web import Web


def main() -> None:
    parser = arguments("pull")
    parser.add_argument("--messages", type=int, default=4_000, help="of each round")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--queues", type=int, default=10_000)
    options = parser.parse_args()
    with environment():
        from bench import rows
        from people import tokens

        rows.make_queues(options.queues)
        person = rows.make_user()
        queue = rows.make_channel(person, "queue")
        token = tokens.create(person, "Bench", ["queues"], None)[1]
        variables = children_environment() | {"LOG_LEVEL": "WARNING"}
        found: dict[str, Any] = {}
        with Web("config.asgi:application", variables) as web:
            for size in (10, 100):
                for name, work in (("sent", partial(_send, options.messages // options.clients)), ("", _drain)):
                    began, spent = time.perf_counter(), web.cpu()
                    with ThreadPoolExecutor(options.clients) as pool:
                        calls = [_calls(web.port, str(queue.id), token) for _ in range(options.clients)]
                        done = sum(pool.map(partial(work, size), calls))
                    found[f"{name or 'pulled'} a second, by {size}"] = round(done / (time.perf_counter() - began))
                    found[f"CPU ms, {name or 'pulled'} by {size}"] = round((web.cpu() - spent) / done * 1000, 2)
                if done != options.messages:
                    raise SystemExit(f"{done} of {options.messages} messages were acknowledged")
    report("pull", 0, found, {}, {})


_Call = Callable[[str, Any], Any]


def _calls(port: int, queue: str, token: str) -> _Call:
    http = HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(verb: str, body: Any) -> Any:
        http.request("POST", f"/api/v1/queues/{queue}/{verb}", json.dumps(body), headers)
        answer = http.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise SystemExit(text)
        return json.loads(text)["items"]

    return call


def _send(count: int, size: int, call: _Call) -> int:
    """Returns how many are new."""
    message = {"type": "build.finished", "data": {"commit": "4f2a91c", "seconds": 12.5}}
    return sum(one["new"] for _ in range(count // size) for one in call("messages", [message] * size))


def _drain(size: int, call: _Call) -> int:
    """Pull and acknowledge until nothing is left; returns how many."""
    done = 0
    while messages := call("pull", {"batch_size": size}):
        results = call("ack", {"acks": [{"lease_id": one["lease_id"]} for one in messages]})
        done += sum(one["result"] == "acked" for one in results)
    return done


if __name__ == "__main__":
    main()
