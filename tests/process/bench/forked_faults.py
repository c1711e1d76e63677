"""Run by `test_faults.py`: the fault matrix, whose workers, beats and web processes are forks."""

from __future__ import annotations

import sys

from bench.faults.__main__ import main
from tests.zygote import Zygote

with Zygote():
    status = main()
sys.exit(status)
