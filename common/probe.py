"""Check that the loops of this machine's workers or beats still run: `python -m common.probe worker`, or `beat`.

Each process touches one file in `var/alive/`. The check imports neither Django nor Celery, and needs neither
PostgreSQL nor Redis.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

STANDSTILL = 60.0  # seconds
_FOLDER = (Path(__file__).parents[1] / (os.environ.get("CARILLON_VAR") or "var") / "alive").resolve()


def note(role: str, waits_for: str = "") -> None:
    """Record that the loop of this process runs, or what it waits for. A full disk is ignored."""
    with suppress(OSError):
        _FOLDER.mkdir(parents=True, exist_ok=True)
        (_FOLDER / f"{role}.{os.getpid()}").write_text(waits_for)


def problem(role: str) -> str:
    """Return what is wrong with the processes of this role; empty: nothing. Removes the files of those that ended."""
    runs = False
    for path in _FOLDER.glob(f"{role}.*"):
        try:
            os.kill(int(path.suffix[1:]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
            continue
        runs = True
        stands = time.time() - path.stat().st_mtime
        if stands > STANDSTILL and not path.read_text():
            return f"{path.name}: its loop has not run for {stands:.0f} s"
    return "" if runs else f"No {role} runs here"


if __name__ == "__main__":
    sys.exit(problem(sys.argv[1]) or 0)
