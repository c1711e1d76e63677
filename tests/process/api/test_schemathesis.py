"""Schemathesis attacks every operation of a running server: examples, limits, random bodies, and chains of calls.

`SCHEMATHESIS_EXAMPLES=200` runs longer than the sample of CI, `SCHEMATHESIS_SEED=7` another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import rows
from people import tokens
from schedules.firing import fire
from tests.make import make_channel, make_user
from tests.process.web import Web

pytestmark = pytest.mark.django_db(transaction=True)

# 422: what a schema cannot say, such as a channel of somebody else, or a cursor that is not ours. 412: another version.
# 429: too many codes to one address.
# 400: JSON that PostgreSQL cannot store (NUL, half a surrogate pair, a number of 20 digits).
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404, 409, 412, 429]
"""


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    person = make_user()
    channel = make_channel(person)
    now = fire.read_clock().now
    schedules = [rows.make_schedule(person, [channel], "daily", {"time": "09:00"}, now) for _ in range(20)]
    there = {"path": {"schedule_id": [str(one.id) for one in schedules]}, "channels": [str(channel.id)]}
    # Without the scope with which it would revoke itself.
    token = tokens.create(person, "Test", [scope for scope in tokens.SCOPES if scope != "tokens"], None)[1]
    config, seed = tmp_path / "schemathesis.toml", os.environ.get("SCHEMATHESIS_SEED", "1")
    config.write_text(CONFIG)
    with Web(API_REQUESTS_PER_MINUTE="0") as web:
        run = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                f"--config-file={config}",
                "run",
                f"http://127.0.0.1:{web.port}/api/v1/openapi.json",
                f"--header=Authorization: Bearer {token}",
                "--checks=all",
                "--phases=examples,coverage,fuzzing,stateful",
                f"--max-examples={os.environ.get('SCHEMATHESIS_EXAMPLES', '3')}",
                f"--seed={seed}",
                "--workers=2",
                "--continue-on-failure",
                "--suppress-health-check=all",
                "--generation-database=:memory:",
            ],
            capture_output=True,
            text=True,
            timeout=540,
            cwd=tmp_path,
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "tests.process.api.schemathesis_hooks",
                "SCHEMATHESIS_ROWS": json.dumps(there),
                "SCHEMATHESIS_SEED": seed,
                "PYTHONPATH": str(Path(__file__).parents[3]),
            },
        )
    Path("/tmp/apirests_st.out").write_text(run.stdout + run.stderr)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr
