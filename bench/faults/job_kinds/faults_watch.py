"""A kind of job that asks the sink, then does what its payload says: "say", "count" or "nothing".

All but "nothing" count in the memory, once for each decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bench.faults.workload import WEBHOOK_DEADLINE
from jobs.kinds.base import Ask, Found, JobKind, Nothing, Say
from jobs.reading.fetch import Fetch, Later, Refused, problem
from work.reasons import Reason
from work.retry import Policy


class FaultsWatch(JobKind):
    name = "faults_watch"
    label = "Watch of the fault matrix"
    about = "Asks the sink."
    deadline = WEBHOOK_DEADLINE
    policy: ClassVar = Policy(tries=99, waits=(0.3, 1.0))

    def summary(self, payload: Mapping[str, Any]) -> str:
        return str(payload["does"])

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        response = fetch.get(ask.payload["url"])
        return problem(response, "the sink") or Found(response.body.decode())

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        checked, counted = Reason("checked", said=value), (ask.memory or 0) + 1
        match ask.payload["does"]:
            case "say":
                return Say(checked, memory=counted)
            case "count":
                return Nothing(checked, memory=counted)
            case _:
                return Nothing(checked)
