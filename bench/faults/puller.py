"""`python -m bench.faults.puller PORT TOKEN LOG PATH=QUEUE…`: a program that pulls queues and acknowledges messages.

A message has taken effect once its acknowledgement is accepted, and only then it has a line in LOG, as an arrival at
the sink has. `pulls` beside LOG has a line for each lease: process, message, attempt, and `pulled`, then the result.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Any

from common.database import fault_points

_VISIBLE_MS = 2_000
_WORK = 0.3  # seconds: so long that a late acknowledgement meets the next lease


def main(port: str, token: str, log: Path, *queues: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(queue: str, verb: str, body: dict[str, Any]) -> Any:
        http = HTTPConnection("127.0.0.1", int(port), timeout=30)  # a new one: who was stopped has lost it
        http.request("POST", f"/api/v1/queues/{queue}/{verb}", json.dumps(body), headers)
        answer = http.getresponse()
        text = answer.read().decode()
        http.close()
        if answer.status != 200:
            raise RuntimeError(text)
        return json.loads(text)

    with log.open("a", buffering=1) as arrivals, log.with_name("pulls").open("a", buffering=1) as pulls:
        for path, _, queue in cycle(queue.partition("=") for queue in queues):
            body = {"batch_size": 100, "visibility_timeout_ms": _VISIBLE_MS, "wait_ms": 200}
            leases = {one["lease_id"]: one for one in call(queue, "pull", body)["items"]}
            if not leases:
                continue
            for one in leases.values():
                pulls.write(f"{os.getpid()} {one['id']} {one['attempts']} pulled\n")
            time.sleep(_WORK)
            fault_points.reach("claimed")
            for result in call(queue, "ack", {"acks": [{"lease_id": key} for key in leases]})["items"]:
                one = leases[result["lease_id"]]
                if result["result"] == "acked":
                    arrivals.write(f"{time.time():.3f} {path} {one['id']} ok {one['body']['data']['subject']}\n")
                pulls.write(f"{os.getpid()} {one['id']} {one['attempts']} {result['result']}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
