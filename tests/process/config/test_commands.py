"""The commands of `script/`, run as a person runs them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from config.embedded.locks import is_free
from demo.ports import free_port
from tests.process.conftest import wait_until

_CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def var() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="carillon-test-", dir="/tmp"))
    yield directory
    wait_until(lambda: all(is_free(keeper) for keeper in directory.glob("*/keeper")))
    shutil.rmtree(directory)


def environment(**variables: str) -> dict[str, str]:
    """What a shell of a person who has set nothing up gives on, and `variables`."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables}


def run(*command: str, cwd: Path = _CHECKOUT, **variables: str) -> tuple[int, list[str]]:
    """Exit status and non-empty lines of output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, [line for line in done.stdout.splitlines() if line]


class Server:
    """`script/server` on a port of its own, with all it has said so far in `lines`."""

    def __init__(self, var: Path, **variables: str) -> None:
        self.port = free_port()
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [_CHECKOUT / "script" / "server"],
            env=environment(CARILLON_VAR=str(var), PORT=str(self.port), **variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            self.lines.extend(iter(output.readline, ""))

    def said(self, words: str) -> bool:
        assert self.process.poll() is None or any(words in line for line in self.lines), "".join(self.lines[-40:])
        return any(words in line for line in self.lines)

    def child(self, name: str) -> int:
        """The process id of web, a worker or beat."""
        listed = subprocess.run(
            ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        (pid,) = [int(line.split()[0]) for line in listed.stdout.splitlines() if f" {name}" in line]
        return pid


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.journey
def test_the_server_starts_everything_restarts_what_dies_and_stops_all_of_it(var: Path) -> None:
    server = Server(var)
    try:
        wait_until(lambda: server.said(f"Carillon is ready: http://127.0.0.1:{server.port}"))
        wait_until(lambda: server.said("Choose the password of admin@localhost within an hour: http"))
        assert not server.said("superuser privileges")
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        killed = server.child("beat")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: server.said("beat died (exit status -9); starting it again"))
        for times in range(1, 4):  # a worker may die often: its provider is to blame
            os.kill(server.child("worker1@"), signal.SIGKILL)
            wait_until(lambda times=times: sum("worker1 died" in line for line in server.lines) == times)  # type: ignore[misc]
            wait_until(lambda times=times: sum(" ready." in line for line in server.lines) == 2 + times)  # type: ignore[misc]
        keeper = (var / "redis" / "keeper").read_text()
        os.kill(int(keeper), signal.SIGKILL)
        wait_until(lambda: (var / "redis" / "keeper").read_text() not in (keeper, ""))
        children = [server.child(name) for name in ("uvicorn", "worker1@", "worker2@", "beat")]
        assert killed not in children

        asked_at = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=120) == 0
        assert time.monotonic() - asked_at < 60
        assert not any(map(alive, children))
        assert all(is_free(keeper) for keeper in var.glob("*/keeper"))
        assert not (var / "postgres" / "data" / "postmaster.pid").exists()
        assert "Traceback" not in "".join(server.lines)
    finally:
        server.process.kill()
        server.process.wait()

    again = Server(var)
    try:
        wait_until(lambda: again.said("Carillon is ready"))
        assert again.said("Choose the password of admin@localhost")  # nobody has
        children = [again.child(name) for name in ("uvicorn", "worker1@", "worker2@", "beat")]
        again.process.kill()
        again.process.wait()
        wait_until(lambda: not any(map(alive, children)))  # nobody holds the port or goes on sending
    finally:
        again.process.kill()
        again.process.wait()


def test_a_port_that_is_taken_is_reported_in_one_line_before_anything_is_started(var: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, lines = run("script/server", CARILLON_VAR=str(var), PORT=str(port))
    assert status == 1
    assert len(lines) == 1
    assert re.search(rf"PORT {port} on 127\.0\.0\.1 cannot be used \(Address already in use\)", lines[0])
    assert list(var.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("DATABASE_URL", "mysql://me:hush-hush@localhost/carillon", "does not start with postgresql://"),
        ("DATABASE_URL", "postgresql://me:hush-hush@127.0.0.1:1/carillon", "refused"),
        ("DATABASE_URL", "postgresql://me@/carillon?host=/nowhere", "No such file"),
        ("PORT", "eighty", "not a whole number"),
        ("PORT", "99999", "not a port"),
    ],
)
def test_a_wrong_setting_is_reported_in_one_line_with_the_name_of_the_variable(
    variable: str, value: str, says: str, var: Path
) -> None:
    given = {
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": "x" * 50,
        "ENCRYPTION_KEYS": "oqc24VafcddKGQNsg80z7j21KuAayCy9SXrwag00sXY=",
        "CARILLON_VAR": str(var),
    }
    port = {"PORT": str(free_port())}
    status, lines = run(sys.executable, "-m", "config.processes.server", **{**given, **port, variable: value})
    assert status == 1
    assert len(lines) == 1, lines
    assert variable in lines[0] and says in lines[0]
    assert "hush" not in lines[0]


def test_a_redis_that_does_not_answer_is_reported_in_one_line(var: Path) -> None:
    status, lines = run(
        sys.executable, "-m", "config.preflight", CARILLON_VAR=str(var), REDIS_URL="redis://:hush@127.0.0.1:1/0"
    )
    assert status == 1
    assert lines[-1].startswith("Carillon cannot start: Redis at 127.0.0.1:1 does not answer")
    assert "REDIS_URL" in lines[-1]
    assert "hush" not in "".join(lines) and "Traceback" not in "".join(lines)


def test_an_unknown_bench_is_answered_with_the_list() -> None:
    for name in ([], ["nonsense"], ["__init__"], ["../config/server"]):
        status, lines = run("script/bench", *name)
        assert status == 2
        assert lines[0].startswith("There is no bench" if name else "script/bench NAME")
    files = [*(_CHECKOUT / "bench").glob("*.py"), *(_CHECKOUT / "bench").glob("*/__main__.py")]
    documented = [path for path in files if path.read_text().startswith('"""`script/bench')]
    benches = {path.parent.name if path.stem == "__main__" else path.stem for path in documented}
    assert {line.strip() for line in lines[-len(benches) :]} == benches >= {"fire", "faults", "lateness"}


def make_checkout(top: Path, requirements: str) -> Path:
    """A checkout that has `script/_environment`, and a command that only installs and then runs Python."""
    (top / "script").mkdir()
    shutil.copy(_CHECKOUT / "script" / "_environment", top / "script")
    command = top / "script" / "hello"
    command.write_text(
        '#!/bin/sh\n. "$(dirname "$0")/_environment"\npackages requirements.txt\n'
        'exec .venv/bin/python -c "print(6 * 7)"\n'
    )
    command.chmod(0o755)
    (top / "requirements.txt").write_text(requirements)
    return top


def test_the_environment_is_made_once_and_repaired_after_an_interruption(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path, "./missing\n")
    (checkout / ".venv" / "bin").mkdir(parents=True)  # what an interruption of the making leaves
    status, lines = run("script/hello", cwd=checkout)
    assert status == 1
    assert lines[0].startswith("Making the environment .venv with Python 3")
    assert lines[-1].startswith("Not all packages of requirements.txt could be installed")

    (checkout / "requirements.txt").write_text("# nothing\n")
    status, lines = run("script/hello", cwd=checkout)
    assert (status, lines[-1]) == (0, "42")
    assert not any(line.startswith("Making the environment") for line in lines)
    assert run("script/hello", cwd=checkout) == (0, ["42"])


def test_a_package_is_counted_and_installed_only_if_its_file_has_the_pinned_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "harmless_thing-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as file:
        about = "harmless_thing-1.0.dist-info"
        file.writestr("harmless_thing.py", "")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: harmless-thing\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")
    pinned = "./harmless_thing-1.0-py3-none-any.whl"
    checkout = make_checkout(tmp_path, f"{pinned} --hash=sha256:{'0' * 64}\n")
    for requirements in (f"{pinned} --hash=sha256:{'0' * 64}\n", f"{pinned}\n"):
        (checkout / "requirements.txt").write_text(requirements)
        status, lines = run("script/hello", cwd=checkout)
        assert status == 1
        assert lines[-1].startswith("Not all packages of requirements.txt could be installed")

    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (checkout / "requirements.txt").write_text(f"{pinned} --hash=sha256:{digest}\n")
    status, lines = run("script/hello", cwd=checkout)
    assert (status, lines[-1]) == (0, "42")
    assert any(line.endswith(": harmless_thing") for line in lines)


def test_a_machine_without_python_3_11_gets_an_error_of_one_line(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path, "")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "dirname", "grep", "cmp"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    old = tools / "python3"
    old.write_text('#!/bin/sh\ncase $1 in --version) echo "Python 3.9.2" ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    status, lines = run("script/hello", cwd=checkout, PATH=str(tools))
    assert status == 1
    assert lines == ["Carillon needs Python 3.11 or newer, and finds none on PATH (Python 3.9.2)."]
