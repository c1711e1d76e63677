"""`script/bench mutants [--count 60] [--seed 1] [--limit 60] [PATH …]`: do the unit and db tests notice random bugs?

Takes a sample of the mutants of the core, or of PATH. For each run the tests that reach its function until one fails,
the likeliest first, for `--limit` seconds at most. A mutant that hangs is noticed. Prints the survivors as diffs. The
first run records which functions each test reaches; later runs do so for test files that have changed.

No file is changed. Two processes collect the tests and fork for each mutant of a function, whose code the fork
replaces. For a mutant of a declaration a new process imports the changed module.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import hashlib
import json
import multiprocessing
import os
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from bench.mutants.mutations import Mutant, marked, mutants

CHECKOUT = Path(__file__).resolve().parent.parent.parent
HOME = CHECKOUT / "var" / "mutants"
PROCESSES = 2
CORE = (
    *("work/engine", "work/broker", "notifications/deliveries", "schedules/firing", "schedules/beat"),
    *("events/intake", "events/rules", "events/kinds", "jobs/checks", "jobs/batches", "common/redis"),
    *(
        f"common/database/{name}.py" for name in ("group_commit", "postgres", "damaged", "rows")
    ),  # the others: migrations
)
APPS = sorted({path.partition("/")[0] for path in CORE})
LANES = ("tests/unit", "tests/db")
Record = dict[str, tuple[float, list[str]]]  # by test: its seconds, and the functions that it reaches
FORK = multiprocessing.get_context("fork")


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", default=CORE, metavar="PATH")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of tests for each mutant")
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    record = read_record()
    found = [mutant for path in modules(options.paths) for mutant in mutants(path, (CHECKOUT / path).read_bytes())]
    sample = random.Random(options.seed).sample(found, min(options.count, len(found)))
    reached = {name for _, names in record.values() for name in names}  # others run at import or once
    sample = [one if one.function in reached else replace(one, function="") for one in sample]
    noticed = FORK.Value("i", 0)
    in_processes(lambda number: Tries(record, options.limit, noticed).try_all(sample[number::PROCESSES]))
    print(f"Seed {options.seed}: {noticed.value} of {len(sample)} mutants noticed, of {len(found)} in all")


def modules(paths: Iterable[str]) -> list[str]:
    files = [CHECKOUT / path for path in paths]
    found = (module for file in files for module in (file.glob("**/*.py") if file.is_dir() else [file]))
    return sorted(str(module.relative_to(CHECKOUT)) for module in found if "migrations" not in module.parts)


def in_processes(work: Callable[[int], object]) -> None:
    """Do it in each of the processes, which have their own engines."""

    def run(number: int) -> None:
        os.environ["CARILLON_VAR"] = f"var/mutants/{number}"
        work(number)

    processes = [FORK.Process(target=run, args=(number,)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def file_of(test: str) -> str:
    return test.partition("::")[0]


def run_pytest(plugin: object, arguments: Iterable[str]) -> int:
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    return pytest.main(["-p", "tests.workers", *arguments], plugins=[plugin])


def import_from(sources: dict[str, bytes]) -> None:
    """Import these modules from other sources."""
    real = SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> CodeType | None:
        source = sources.get(os.path.relpath(loader.path, CHECKOUT))
        return real(loader, name) if source is None else compile(source, loader.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def read_record() -> Record:
    """The functions that each test reaches, recorded where its file has changed."""
    kept, new = HOME / "record.json", HOME / "new_record.json"
    known: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    files = [path for path in modules(LANES) if Path(path).name.startswith("test_")]
    digests = {file: hashlib.sha256((CHECKOUT / file).read_bytes()).hexdigest() for file in files}
    if changed := [file for file in files if known.get(file, {}).get("digest") != digests[file]]:
        print(f"Recording what the tests of {len(changed)} files reach …", file=sys.stderr, flush=True)
        new.unlink(missing_ok=True)

        def run(number: int) -> None:
            import_from({path: marked(path, (CHECKOUT / path).read_bytes()) for path in modules(APPS)})
            run_pytest(Recorder(new), changed[number::PROCESSES])

        in_processes(run)
        recorded: dict[str, dict[str, Any]] = defaultdict(dict)
        for test, *reached in map(json.loads, new.read_text().splitlines()):
            recorded[file_of(test)][test] = reached
        # A file without a test that passed is recorded again next time, also one that was not reached.
        known |= {file: {"digest": digests[file], "tests": tests} for file, tests in recorded.items()}
        known = {file: known[file] for file in files if file in known}
        kept.write_text(json.dumps(known))
    return {name: reached for file in known.values() for name, reached in file["tests"].items()}


class Recorder:
    """Plugin of pytest: writes a line of JSON for each test that passes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        reached: set[str] = vars(sys).setdefault("reached", set())
        reached.clear()
        began, failed = time.monotonic(), item.session.testsfailed
        result = yield
        if item.session.testsfailed == failed:
            line = json.dumps([item.nodeid, round(time.monotonic() - began, 3), sorted(reached)])
            with open(self.path, "ab", buffering=0) as file:  # one write a line, for another process writes too
                file.write(line.encode() + b"\n")
        return result


def choose(mutant: Mutant, record: Record, limit: float) -> list[str]:
    """Tests that reach its function, the likely and short ones first, up to `limit` seconds in all.

    A declaration is reached through its module and whatever imports that.
    """
    through = () if mutant.function else (f"{mutant.path}:", *importers(mutant.path))
    folders, name = set(Path(mutant.path).parts[:-1]), Path(mutant.path).stem
    ranked = []
    for test, (seconds, reached) in record.items():
        if mutant.function in reached or any(one.startswith(through) for one in (test, *reached)):
            likeness = len(folders.intersection(Path(file_of(test)).parts)) + 2 * (name in test)
            ranked.append((-likeness, seconds, test))
    chosen = []
    for _, seconds, test in sorted(ranked):
        if seconds <= limit:
            chosen.append(test)
            limit -= seconds
    return chosen


@cache
def importers(path: str) -> list[str]:
    """The files of the product and of tests that import the module, each with a colon."""
    package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
    imports = re.compile(rf"^from {re.escape(package)}(\.{name} import| import .*\b{name}\b)", re.MULTILINE)
    return [f"{file}:" for file in modules([*LANES, *APPS]) if imports.search((CHECKOUT / file).read_text())]


class Tries:
    """Plugin of pytest that tries mutants, each in a fork."""

    def __init__(self, record: Record, limit: float, noticed: Any) -> None:
        self.record, self.limit, self.noticed = record, limit, noticed
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        self.mutants: list[Mutant] = []
        self.tests: list[str] = []
        self.failed: Any = FORK.Array("c", 300)  # the name of a test
        self.out, self.log = (os.fdopen(os.dup(number), "w", buffering=1) for number in (1, 2))

    def try_all(self, sample: list[Mutant]) -> None:
        for mutant in sample:
            if not mutant.function:
                self.try_one(mutant, self.import_changed)
        self.mutants = [mutant for mutant in sample if mutant.function]
        tests = (test for mutant in self.mutants for test in choose(mutant, self.record, self.limit))
        run_pytest(self, ["-x", *dict.fromkeys(map(file_of, tests))])

    def try_one(self, mutant: Mutant, run: Callable[..., None], *args: object) -> None:
        self.mutants, self.tests, self.failed.value = [], choose(mutant, self.record, self.limit), b""
        began = time.monotonic()
        process = FORK.Process(target=run, args=(mutant, *args))
        process.start()
        process.join(120 + 10 * sum(self.record[test][0] for test in self.tests))
        if process.exitcode is None:
            process.kill()
            process.join()
        failed = self.failed.value.decode() or f"status {process.exitcode}"
        result = f"noticed by {failed}" if process.exitcode else f"survived {len(self.tests)} tests"
        print(f"{mutant.path}:{mutant.line} {result}, {time.monotonic() - began:.0f} s", file=self.log)
        if process.exitcode:
            with self.noticed.get_lock():
                self.noticed.value += 1
        else:
            was, became = (text.decode().splitlines(keepends=True) for text in (mutant.source, mutant.mutated))
            self.out.writelines(difflib.unified_diff(was, became, mutant.path, mutant.path, n=1))

    def import_changed(self, mutant: Mutant) -> None:
        import_from({mutant.path: mutant.mutated})
        sys.exit(bool(self.tests) and run_pytest(self, ["-x", *dict.fromkeys(map(file_of, self.tests))]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self.mutants:
            items = {item.nodeid: item for item in session.items}
            session.items[:] = [items[test] for test in self.tests]
            return None
        gc.unfreeze()  # what tests/conftest.py has frozen is not among the objects
        for function in gc.get_objects():
            if type(function) is FunctionType:  # isinstance would ask proxies
                self.functions[function.__code__.co_filename].append(function)
        for mutant in self.mutants:
            self.try_one(mutant, self.replace_code, session)
        return True

    def replace_code(self, mutant: Mutant, session: pytest.Session) -> None:
        codes: dict[tuple[str, int], CodeType] = {}

        def collect(code: CodeType) -> None:
            for inner in code.co_consts:
                if isinstance(inner, CodeType):
                    codes[inner.co_qualname, inner.co_firstlineno] = inner
                    collect(inner)

        collect(compile(mutant.mutated, CHECKOUT / mutant.path, "exec", dont_inherit=True))
        for function in self.functions[str(CHECKOUT / mutant.path)]:
            function.__code__ = codes[function.__code__.co_qualname, function.__code__.co_firstlineno]
        session.config.hook.pytest_runtestloop(session=session)
        sys.exit(session.testsfailed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.value = report.nodeid.encode()[:299]


if __name__ == "__main__":
    main()
