"""`script/bench api [--seconds N] [--rounds N] [--clients N] [--requests N] [--json]`: schedules over HTTP.

Reads, creates and changes. The peer is a web process of stock Django with bare views that make the same read, insert
and update: no middleware, token, limit, idempotency key, form or mirror. A second one finds the person of the token and
writes the same rows as ours, by Django's ORM. All take turns; a ratio is the median over the rounds. `CPU ms` is that
of the web process for each request. `--requests` instead makes so many requests of our API, half of them creates, and
reports the resident memory of the web process at 10, 50 and 100 % of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
from uuid import UUID, uuid4

import uvloop

from bench.environment import arguments, children_environment, environment, report
from bench.web import Requests, Web, load, measure, request


def main() -> None:
    parser = arguments("api")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=0, help="measure memory over so many requests, not the speed")
    options = parser.parse_args()
    with environment():
        from bench import rows
        from people import tokens
        from schedules.firing import fire

        # One person for each client: more than two requests of one person wait for each other.
        people = []
        for _ in range(options.clients):
            person = rows.make_user()
            channel = rows.make_channel(person)
            token = tokens.create(person, "Bench", list(tokens.SCOPES), None)[1]
            body = json.dumps(
                {"title": "Water the plants", "timing": {"daily": {"time": "09:00"}}, "channel_ids": [str(channel.id)]}
            )
            schedule = rows.make_schedule(person, [channel], "daily", {"time": "09:00"}, fire.read_clock().now)
            head = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            people.append((head, body, schedule.id))
        turn = itertools.cycle(people)
        variables = children_environment() | {
            "API_REQUESTS_PER_MINUTE": "10000000",
            "MOST_SCHEDULES": "10000000",
            "LOG_LEVEL": "WARNING",
        }
        bare = f"X-User: {person.pk}\r\n"
        requests: Requests = {
            "reads": {
                "ours": lambda: _read("/api/v1/schedules", *next(turn)),
                "bare view": lambda: request("GET", f"/read/{schedule.id}", bare),
                "same rows": lambda: _read("/same/read", *next(turn)),
            },
            "writes": {
                "ours": lambda: _create("/api/v1", *next(turn)),
                "bare view": lambda: request("POST", f"/create/{schedule.id}", bare, body),
                "same rows": lambda: _create("/same", *next(turn)),
            },
            "changes": {
                "ours": lambda: _change("/api/v1/schedules", *next(turn)),
                "bare view": lambda: _change("/change", *next(turn)),
                "same rows": lambda: _change("/same/change", *next(turn)),
            },
        }
        with Web("config.asgi:application", variables) as ours:
            if options.requests:
                _report_memory(ours, requests, options)
                return
            with Web("bench.bare_views:application", variables) as bare_view:
                webs = {"ours": ours, "bare view": bare_view, "same rows": bare_view}
                found, ratios = measure(webs, requests, options)
    report("api", 0, found.pop("ours"), found, ratios)


def _report_memory(web: Web, requests: Requests, options: argparse.Namespace) -> None:
    made = [requests[kind]["ours"] for kind in ("reads", "writes")]
    turn = itertools.cycle(made)
    found: dict[str, float] = {}
    done = 0
    for percent in (10, 50, 100):
        count = options.requests * percent // 100 - done
        rate, _ = uvloop.run(load(web.port, lambda: next(turn)(), options.clients, count=count))
        done += count
        found |= {f"MiB at {percent} %": round(web.memory(), 1), f"a second to {percent} %": round(rate)}
    report("api", 0, found, {}, {})


def _read(path: str, head: str, _body: str, schedule: UUID) -> bytes:
    return request("GET", f"{path}/{schedule}", head)


def _create(path: str, head: str, body: str, _schedule: UUID) -> bytes:
    return request("POST", f"{path}/schedules", f"{head}Idempotency-Key: {uuid4().hex}\r\n", body)


def _change(path: str, head: str, _body: str, schedule: UUID) -> bytes:
    return request("PATCH", f"{path}/{schedule}", head, json.dumps({"title": uuid4().hex, "grace": 60}))


if __name__ == "__main__":
    main()
