"""`script/bench intake [--seconds N] [--rounds N] [--clients N] [--json]`: publish events over the API.

One event in a request, and 100; each is stored and its message published when the answer comes. The peer is a web
process of stock Django with a bare view that inserts one row. Both take turns; a ratio is the median over the rounds,
for lists that of events to rows. Then all clients together publish 100 events a second. Nobody handles them meanwhile.
"""

from __future__ import annotations

import itertools
import json
from uuid import uuid4

import uvloop

from bench.environment import arguments, children_environment, environment, report
from bench.web import Requests, Web, load, measure, p99, request
from bench.workers import own_redis_database

_LIST = 100
_PACE = 100


def main() -> None:
    parser = arguments("intake")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=50)
    options = parser.parse_args()
    with environment() as app:
        from bench import rows
        from people import tokens

        own_redis_database(app)
        people = [rows.make_user() for _ in range(options.clients)]
        made = [tokens.create(person, "Bench", ["events"], None)[1] for person in people]
        turn = itertools.cycle(
            [f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n" for token in made]
        )
        bare = f"X-User: {people[0].pk}\r\n"

        def publish(count: int) -> bytes:
            return request("POST", "/api/v1/events", next(turn), _body(count))

        requests: Requests = {
            "events": {"ours": lambda: publish(1), "bare view": lambda: request("POST", "/event", bare, _body(1))},
            "lists": {"ours": lambda: publish(_LIST), "bare view": lambda: request("POST", "/event", bare, _body(1))},
        }
        variables = children_environment() | {"API_REQUESTS_PER_MINUTE": "10000000", "LOG_LEVEL": "WARNING"}
        with (
            Web("config.asgi:application", variables) as ours,
            Web("bench.bare_views:application", variables) as bare_view,
        ):
            webs = {"ours": ours, "bare view": bare_view}
            found, ratios = measure(webs, requests, options)
            for name, web in webs.items():
                each = load(web.port, requests["events"][name], options.clients, 10.0, pace=options.clients / _PACE)
                found[name][f"p99 ms at {_PACE}"] = round(p99(uvloop.run(each)[1]) * 1000, 1)
        ratios["lists"] = round(ratios["lists"] * _LIST, 1)
        ratios["lists CPU"] = round(ratios["lists CPU"] * _LIST, 1)
        report("intake", 0, found.pop("ours"), found, ratios)


def _body(count: int) -> str:
    events = [
        {
            "id": str(uuid4()),
            "type": "order.paid",
            "source": "shop",
            "data": {"order_id": number, "amount": 129.5, "items": ["apples", "pears"]},
        }
        for number in range(count)
    ]
    return json.dumps(events[0] if count == 1 else events)


if __name__ == "__main__":
    main()
