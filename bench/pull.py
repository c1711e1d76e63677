"""`script/bench pull [--messages N] [--clients N] [--json]`: messages that programs pull from a queue and acknowledge.

Over HTTP from one web process, by clients that each pull a batch and acknowledge it, until the queue is empty, in
batches of 10 and of 100. `CPU ms` is that of the web process for each message. There is no peer.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any

from bench.environment import arguments, children_environment, environment, report
from bench.web import Web


def main() -> None:
    parser = arguments("pull")
    parser.add_argument("--messages", type=int, default=4_000, help="of each round")
    parser.add_argument("--clients", type=int, default=2)
    options = parser.parse_args()
    with environment():
        from bench import rows
        from people import tokens

        person = rows.make_user()
        queue = rows.make_channel(person, "queue")
        token = tokens.create(person, "Bench", ["queues"], None)[1]
        variables = children_environment() | {"API_REQUESTS_PER_MINUTE": "0", "LOG_LEVEL": "WARNING"}
        found: dict[str, Any] = {}
        with Web("config.asgi:application", variables) as web:
            for size in (10, 100):
                rows.make_deliveries(queue, options.messages)
                began, spent = time.perf_counter(), web.cpu()
                with ThreadPoolExecutor(options.clients) as pool:
                    work = [pool.submit(_drain, web.port, str(queue.id), token, size) for _ in range(options.clients)]
                    done = sum(one.result() for one in work)
                if done != options.messages:
                    raise SystemExit(f"{done} of {options.messages} messages were acknowledged")
                found[f"a second, by {size}"] = round(done / (time.perf_counter() - began))
                found[f"CPU ms, by {size}"] = round((web.cpu() - spent) / done * 1000, 2)
    report("pull", 0, found, {}, {})


def _drain(port: int, queue: str, token: str, size: int) -> int:
    """Pull and acknowledge until nothing is left; returns how many."""
    http, done = HTTPConnection("127.0.0.1", port), 0
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(verb: str, body: dict[str, Any]) -> Any:
        http.request("POST", f"/api/v1/queues/{queue}/{verb}", json.dumps(body), headers)
        answer = http.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise SystemExit(text)
        return json.loads(text)

    while messages := call("pull", {"batch_size": size})["items"]:
        results = call("ack", {"acks": [{"lease_id": one["lease_id"]} for one in messages]})["items"]
        done += sum(one["result"] == "acked" for one in results)
    return done


if __name__ == "__main__":
    main()
