"""`python -m demo.consumer NAME QUEUE [--seconds KEYWORD=SECONDS] [--busy KEYWORD] [--twice KEYWORD]`: pulls one queue.

It waits for messages, works on them for so many seconds since it got them (0.4 where none are given), answers each
with an event, and acknowledges it. The first message of a `--busy` keyword is returned, the answer to one of `--twice`
is sent twice. A message that comes again gets the same answer with the same id: so the answer counts once.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from carillon_client import Client

_ANSWERS = {
    "research.requested": "research.completed",
    "content.publish": "content.published",
    "social.create": "social.posted",
}
_VISIBLE = 3.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("queue")
    parser.add_argument("--seconds", action="append", default=[])
    parser.add_argument("--busy", action="append", default=[])
    parser.add_argument("--twice", action="append", default=[])
    options = parser.parse_args()
    seconds = {keyword: float(text) for keyword, _, text in (given.partition("=") for given in options.seconds)}
    with Client(os.environ["CARILLON_URL"], os.environ["CARILLON_TOKEN"]) as carillon:
        print("pulls", flush=True)
        while True:
            messages = carillon.queues.pull(options.queue, visibility=_VISIBLE, wait=10.0)
            began = time.monotonic()
            due = sorted((seconds.get(_keyword(message), 0.4), message["id"], message) for message in messages)
            for message in messages:
                print(f"pulled {_keyword(message)} {message['attempts']}", flush=True)
            for at, _, message in due:
                time.sleep(max(0.0, began + at - time.monotonic()))
                keyword, lease = _keyword(message), message["lease_id"]
                if keyword in options.busy and message["attempts"] == 1:
                    carillon.queues.ack(options.queue, [], {lease: 0})
                    print(f"returned {keyword}", flush=True)
                    continue
                for _ in range(1 + (keyword in options.twice)):
                    carillon.events.publish(_answer(options.name, message))
                    print(f"answered {keyword}", flush=True)
                carillon.queues.ack(options.queue, [lease])


def _event(message: Any) -> Any:
    return message["body"]["data"]["data"]


def _keyword(message: Any) -> str:
    return str(_event(message)["data"]["keyword"])


def _answer(name: str, message: Any) -> dict[str, Any]:
    """It has the correlation id of what it answers, and is one hop further."""
    event = _event(message)
    return {
        "type": _ANSWERS[event["type"]],
        "id": f"answer-{message['id']}",
        "source": name,
        "correlation_id": event["correlation_id"],
        "hops": event["hops"] + 1,
        "data": event["data"],
    }


if __name__ == "__main__":
    main()
