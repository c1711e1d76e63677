"""The lines that each process logs with LOG_FORMAT=json."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

from demo.installation import Installation, wait_until
from demo.person import Person
from tests import migrated

_FIELDS = {"action", "id", "type", "source", "correlation_id", "attempt", "queued_at", "delay_ms", "outcome", "reason"}


def test_each_line_of_each_process_is_json_and_each_try_and_what_rescue_ends_has_fields() -> None:
    with Installation("test_logs", migrated.template(), LOG_FORMAT="json", LOG_LEVEL="INFO") as site:
        site.beat.command.insert(site.beat.command.index("beat"), "--quiet")
        read = {child: _gather(child) for child in (site.web, site.worker, site.beat)}
        site.start(*read)
        with closing(Person(site.url, "Ada", "ada@example.org", "a long enough passphrase", "Europe/Berlin")):
            done = "SELECT id FROM jobs_job WHERE state = 'decided'"
            [decided, *_] = wait_until(lambda: site.rows(done), "a job that is decided", within=180)
        stale = "UPDATE jobs_job SET expires_at = now() WHERE state = 'pending' RETURNING id"
        expired = {str(row["id"]) for row in site.rows(stale)}
        assert expired
        ends = "SELECT id FROM jobs_job WHERE state = 'expired'"
        wait_until(lambda: len(site.rows(ends)) == len(expired), "rescue", within=180)
        site.stop(*read)
    for written in read.values():
        for line in written:
            assert line.startswith("{"), line
    lines = {child.name: [json.loads(line) for line in written] for child, written in read.items()}
    assert all(lines.values())
    for line in (one for some in lines.values() for one in some):
        assert line.keys() >= {"time", "level", "logger", "message"}
    tries = {line["id"]: line for line in lines["worker"] if "action" in line}
    assert all(line.keys() >= _FIELDS and isinstance(line["will_retry"], bool) for line in tries.values())
    assert (tries[str(decided["id"])]["outcome"], tries[str(decided["id"])]["attempt"]) == ("decided", 1)
    assert {tries[key]["outcome"] for key in expired} == {"expired"}


def _gather(child: Any) -> list[str]:
    lines: list[str] = []
    shown: Callable[[str, str], None] = child.on_line

    def on_line(line: str, name: str) -> None:
        lines.append(line)
        shown(line, name)

    child.on_line = on_line
    return lines
