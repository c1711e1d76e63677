"""`script/bench mutants [--count 60] [--seed 1] [--limit 60] [PATH …]`: do the unit and db tests notice random bugs?

Takes a sample of the mutants of the core, or of PATH. Each is written into a copy of the checkout in `var/mutants`.
There run the tests that call its function, or else its module, until one fails: the likeliest first, for `--limit`
seconds at most. A mutant that hangs is noticed. Prints the survivors as a diff. The first run records which functions
each test calls, which takes over 12 minutes of CPU; later runs do so for test files that have changed.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench.mutants.mutations import Mutant, mutants

CHECKOUT = Path(__file__).resolve().parent.parent.parent
COPY = CHECKOUT / "var" / "mutants"
CORE = (
    *("work/engine", "work/broker", "notifications/deliveries", "schedules/firing", "schedules/beat"),
    *("events/intake", "events/rules", "events/kinds", "jobs/checks", "jobs/batches", "common/redis"),
    *(
        f"common/database/{name}.py" for name in ("group_commit", "postgres", "damaged", "rows")
    ),  # the others: migrations
)
LIBRARIES = ("celery.app.task", "django.test", "hypothesis", "kombu.transport.redis", "psycopg", "pydantic", "requests")
LANES = ("tests/unit", "tests/db")
Calls = dict[str, tuple[float, list[str]]]  # by test: its seconds, and the functions that it calls


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", default=CORE, metavar="PATH")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of tests for each mutant")
    options = parser.parse_args()
    for name in LIBRARIES:
        importlib.import_module(name)
    copy_checkout()
    calls = read_calls()
    files = [CHECKOUT / path for path in options.paths]
    files = sorted(module for file in files for module in (file.glob("**/*.py") if file.is_dir() else [file]))
    found = [mutant for file in files for mutant in mutants(str(file.relative_to(CHECKOUT)), file.read_bytes())]
    sample = random.Random(options.seed).sample(found, min(options.count, len(found)))
    if any(is_noticed(choose(mutant, calls, 2.0)) for mutant in sample[:5]):
        sys.exit("Tests fail without a mutant.")
    survivors = []
    for number, mutant in enumerate(sample, 1):
        began = time.monotonic()
        tests = choose(mutant, calls, options.limit)
        (COPY / mutant.path).write_bytes(mutant.mutated)
        noticed = is_noticed(tests)
        shutil.copy2(CHECKOUT / mutant.path, COPY / mutant.path)
        survivors += [] if noticed else [mutant]
        result = "noticed" if noticed else f"survived {len(tests)} tests"
        print(f"{number:4} {mutant.path}:{mutant.line} {result}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    for mutant in survivors:
        was, became = (text.decode().splitlines(keepends=True) for text in (mutant.source, mutant.mutated))
        sys.stdout.writelines(difflib.unified_diff(was, became, mutant.path, mutant.path, n=1))
    noticed_count = len(sample) - len(survivors)
    print(f"Seed {options.seed}: {noticed_count} of {len(sample)} mutants noticed, of {len(found)} in all")


def copy_checkout() -> None:
    """Copy what git has or would add; the copy keeps its own engines and compiled modules."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=CHECKOUT, capture_output=True, check=True, text=True
    )
    names = {name for name in listed.stdout.split("\0") if (CHECKOUT / name).is_file()}
    for old in COPY.rglob("*.py"):
        if not old.relative_to(COPY).parts[0].startswith((".venv", "var")) and str(old.relative_to(COPY)) not in names:
            old.unlink()
    for name in names:
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, COPY / name)
    if not (COPY / ".venv").exists():
        (COPY / ".venv").symlink_to((CHECKOUT / ".venv").resolve())


def read_calls() -> Calls:
    """The functions that each test calls, recorded where its file has changed."""
    kept = COPY / "var" / "calls.json"
    known: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    files = sorted(str(file.relative_to(COPY)) for lane in LANES for file in (COPY / lane).rglob("test_*.py"))
    digests = {file: hashlib.sha256((COPY / file).read_bytes()).hexdigest() for file in files}
    changed = [file for file in files if known.get(file, {}).get("digest") != digests[file]]
    if changed:
        print(f"Recording what the tests of {len(changed)} files call …", file=sys.stderr, flush=True)
        new = COPY / "var" / "new_calls.json"
        new.parent.mkdir(exist_ok=True)
        new.unlink(missing_ok=True)
        run_pytest(changed, 3600, CALLED_FUNCTIONS=str(new))
        recorded: dict[str, dict[str, Any]] = defaultdict(dict)
        for test, *called in map(json.loads, new.read_text().splitlines()):
            recorded[test.partition("::")[0]][test] = called
        # A file without a test that passed is recorded again next time, also one that was not reached.
        known |= {file: {"digest": digests[file], "tests": tests} for file, tests in recorded.items()}
        known = {file: known[file] for file in files if file in known}
        kept.write_text(json.dumps(known))
    return {name: called for file in known.values() for name, called in file["tests"].items()}


def choose(mutant: Mutant, calls: Calls, limit: float) -> list[str]:
    """Tests of its function, then of its module, the likely and short ones first, up to `limit` seconds in all.

    One outside of a function is in a statement or a declaration, which is reached through whatever imports the module.
    """
    modules = {mutant.path} if mutant.function else {mutant.path, *importers(mutant.path)}
    module, folders, name = f"{mutant.path}:", set(Path(mutant.path).parts[:-1]), Path(mutant.path).stem
    ranked = []
    for test, (seconds, called) in calls.items():
        of_module = [function for function in called if function.partition(":")[0] in modules]
        if of_module or test.partition("::")[0] in modules:
            is_direct = not mutant.function or module + mutant.function in of_module
            likeness = len(folders.intersection(Path(test.partition("::")[0]).parts)) + 2 * (name in test)
            ranked.append((not is_direct, -likeness, seconds, test))
    chosen = []
    for *_, seconds, test in sorted(ranked):
        if seconds <= limit:
            chosen.append(test)
            limit -= seconds
    return chosen


def importers(path: str) -> set[str]:
    """The files of the product and of tests that import the module."""
    package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
    imports = re.compile(rf"^from {re.escape(package)}(\.{name} import| import .*\b{name}\b)", re.MULTILINE)
    folders = {*LANES, *(one.partition("/")[0] for one in CORE)}
    files = (file for one in folders for file in (COPY / one).rglob("*.py"))
    return {str(file.relative_to(COPY)) for file in files if imports.search(file.read_text())}


def is_noticed(tests: list[str]) -> bool:
    """Whether one of them fails, or hangs."""
    chosen = COPY / "var" / "chosen"
    chosen.write_text("\n".join(tests))
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return bool(tests) and run_pytest(["-x", *files], 300, CHOSEN_TESTS=str(chosen)) != 0


def run_pytest(arguments: list[str], seconds: float, **variables: str) -> int:
    """Run it in the copy, by a fork that has loaded most libraries; returns 0 if all tests pass within the time."""
    if not (child := os.fork()):
        try:
            os.setsid()
            os.chdir(COPY)
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(1, 2)
            os.environ.update({"CARILLON_VAR": "var/test", **variables})
            sys.path[:] = [str(COPY), *(path for path in sys.path if path not in ("", str(CHECKOUT)))]
            for name in [name for name in sys.modules if name.startswith("bench")]:
                del sys.modules[name]
            plugins = ["-p", "tests.workers", "-p", "bench.mutants.chosen"]
            os._exit(pytest.main([*plugins, "-W", "ignore::pytest.PytestAssertRewriteWarning", *arguments]))
        finally:
            os._exit(3)
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
