"""`script/bench changes [--n N] [--json]`: what the feed of changes costs a delivery, in CPU of the database.

Deliveries are made, claimed one by one, and settled, 32 at once, in interleaved rounds: without the feed, with it for
somebody whom no program follows, and for somebody with a token. Processor time of the backend, not wall time: other
work on the machine does not count. Only the settlement differs, so the ratio is a delivery with its extra time to one
without.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from bench.environment import arguments, environment, report

_BATCH = 32


def main() -> None:
    parser = arguments("changes")
    parser.add_argument("--n", type=int, default=1_024, help="deliveries a round")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with environment():
        compare(options.n, options.rounds)


def compare(count: int, rounds: int) -> None:
    from bench.rows import make_channel, make_user
    from people import tokens

    nobody, followed = make_user(), make_user()
    tokens.create(followed, "Bench", ["read"], None)
    hook = ("webhook", {"url": "https://example.org"}, {"secret": "whsec_c2VjcmV0"})
    channels = {"without": make_channel(nobody, *hook), "not followed": make_channel(nobody, *hook)}
    channels["followed"] = make_channel(followed, *hook)
    trigger = Trigger()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in channels}
    for number in range(rounds + 1):
        for name, channel in channels.items():
            trigger.put(trigger.records_nothing if name == "without" else trigger.asks)
            spent = live(channel, count)
            if number:  # the first one warms up
                taken[name].append(spent)
    shown = {}
    for name, each in taken.items():
        columns = {"a delivery µs": [one[0] for one in each], "its settlement µs": [one[1] for one in each]}
        shown[name] = {column: round(statistics.median(times) / count / 1000, 1) for column, times in columns.items()}
    base = shown.pop("without")
    whole, settling = base["a delivery µs"], base["its settlement µs"]
    ratios = {name: round(1 + (row["its settlement µs"] - settling) / whole, 3) for name, row in shown.items()}
    report("changes", 0, base, shown, ratios)


def live(channel: Any, count: int) -> tuple[float, float]:
    """Nanoseconds of the backend for `count` deliveries: all of their life, and their settlement."""
    from bench.rows import make_deliveries
    from notifications.deliveries.kind import DELIVERY
    from notifications.reasons import DeliveryCode
    from work.engine.claim import claim
    from work.engine.decision import Decision
    from work.engine.settlement import settlement, write
    from work.reasons import Reason

    begun = cpu()
    claims = [claim(DELIVERY, key, "bench") for key in make_deliveries(channel, count)]
    claimed, decision = cpu(), Decision("delivered", "delivered", Reason(DeliveryCode.ACCEPTED, status=200))
    for start in range(0, count, _BATCH):
        write(DELIVERY, [settlement(DELIVERY, one, decision) for one in claims[start : start + _BATCH] if one])
    return cpu() - begun, cpu() - claimed


def cpu() -> int:
    """Nanoseconds that this connection's backend has run."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(Path(f"/proc/{cursor.fetchone()[0]}/schedstat").read_text().split()[0])


class Trigger:
    """The function that records the changes, as it is and without asking who follows them."""

    def __init__(self) -> None:
        from common.database.postgres import query
        from notifications.models import change

        found = "SELECT pg_get_functiondef(oid) AS source FROM pg_proc WHERE proname LIKE %s"
        [row] = query(found, ["pgtrigger_delivery_writes_outcome%"])
        self.asks: str = row.source
        self.records_nothing = self.asks.replace(change.followed("n.user_id"), "false")
        assert self.asks != self.records_nothing

    def put(self, source: str) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(source)


if __name__ == "__main__":
    main()
