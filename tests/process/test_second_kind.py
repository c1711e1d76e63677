"""A kind of work has its dead letters, its admin pages and its place in the operators' email by its declaration."""

from __future__ import annotations

import os
import subprocess
import sys

from config.embedded.var import CHECKOUT, var_dir


def test_a_kind_of_sixty_lines_has_dead_letters_that_are_listed_replayed_and_discarded() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.process.second_kind"],
        cwd=CHECKOUT,
        env={**os.environ, "CARILLON_VAR": str(var_dir() / "second-kind")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
