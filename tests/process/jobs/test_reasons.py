"""A process that has not used a kind of job yet says the reasons of its jobs."""

from __future__ import annotations

import os
import subprocess
import sys

_SAY = """
import django
django.setup()
import sys
from work.reasons import Reason
assert "jobs.kinds.feed" not in sys.modules
print(Reason("not-a-feed", host="example.org", problem=Reason("not_a_feed")))
"""


def test_a_reason_of_a_kind_that_is_not_loaded_is_a_sentence() -> None:
    run = subprocess.run([sys.executable, "-c", _SAY], capture_output=True, text=True, env={**os.environ}, check=True)
    [text] = run.stdout.splitlines()
    assert "example.org" in text and "neither RSS, Atom nor JSON Feed" in text
