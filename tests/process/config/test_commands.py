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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from config.embedded.locks import is_free
from demo.ports import free_port
from tests.process.conftest import wait_until

_CHECKOUT = Path(__file__).resolve().parents[3]


@contextmanager
def folder() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="carillon-test-", dir="/tmp"))
    yield directory
    wait_until(lambda: all(is_free(keeper) for keeper in directory.glob("*/keeper")))
    shutil.rmtree(directory)


@pytest.fixture
def var() -> Iterator[Path]:
    with folder() as directory:
        yield directory


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """The folder of an installation, which the first `script/server` makes."""
    with folder() as directory:
        yield directory


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
        """The process id of web, worker or beat, once there is one."""
        wait_until(lambda: name in self.children())
        return self.children()[name]

    def children(self) -> dict[str, int]:
        listed = subprocess.run(
            ["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        named = {name: int(pid) for pid, name in map(str.split, listed.stdout.splitlines())}
        return {name: pid for name, pid in named.items() if name in ("web", "worker", "beat")}

    def stop_after(self, signals: int) -> float:
        """Send so many SIGINT; the seconds until it has ended well, with its children."""
        children, asked_at = self.children(), time.monotonic()
        for number in range(signals):
            self.process.send_signal(signal.SIGINT)
            wait_until(lambda: self.said("Stopping beat, worker and web")) if number == 0 else None
        assert self.process.wait(timeout=120) == 0
        assert set(children) == {"web", "worker", "beat"}
        assert not any(map(alive, children.values()))
        return time.monotonic() - asked_at


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.fixture
def servers(home: Path) -> Iterator[Callable[[], Server]]:
    """Starts `script/server`, and returns it once it is ready."""
    started = []

    def start() -> Server:
        started.append(server := Server(home))
        wait_until(lambda: server.said(f"Carillon is ready: http://127.0.0.1:{server.port}"))
        return server

    yield start
    for server in started:
        server.process.kill()
        server.process.wait()


def opens_nothing_that_a_fork_must_not_have(pid: int) -> bool:
    """Whether a process has one thread, and no connection to anything."""
    opened = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.exists()]
    return len([*Path(f"/proc/{pid}/task").iterdir()]) == 1 and not any("socket" in one for one in opened)


@pytest.mark.journey
def test_the_server_starts_everything_restarts_what_dies_and_stops_all_of_it(
    home: Path, servers: Callable[[], Server]
) -> None:
    server = servers()
    wait_until(lambda: server.said("Choose the password of admin@localhost within an hour: http"))
    assert not server.said("superuser privileges")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    wait_until(lambda: opens_nothing_that_a_fork_must_not_have(server.process.pid))
    first = server.children()
    for times in range(1, 4):  # a worker may die often: its provider is to blame
        os.kill(server.child("worker"), signal.SIGKILL)
        wait_until(lambda times=times: sum("worker died" in line for line in server.lines) == times)  # type: ignore[misc]
        wait_until(lambda times=times: sum(" ready." in line for line in server.lines) == 1 + times)  # type: ignore[misc]
    for name, sign in (("beat", "beat: Starting..."), ("web", "Uvicorn running on")):
        os.kill(server.child(name), signal.SIGKILL)
        wait_until(lambda name=name: server.said(f"{name} died (exit status -9); starting it again"))  # type: ignore[misc]
        wait_until(lambda sign=sign: sum(sign in line for line in server.lines) == 2)  # type: ignore[misc]
    keeper = (home / "redis" / "keeper").read_text()
    os.kill(int(keeper), signal.SIGKILL)
    wait_until(lambda: (home / "redis" / "keeper").read_text() not in (keeper, ""))
    assert not {*first.values()} & {*server.children().values()}

    assert server.stop_after(1) < 60
    assert all(is_free(keeper) for keeper in home.glob("*/keeper"))
    assert not (home / "postgres" / "data" / "postmaster.pid").exists()
    assert "Traceback" not in "".join(server.lines)
    assert not any(line.startswith("worker: ") for line in server.lines)  # lines of Celery that lack our label


@pytest.mark.journey
def test_no_child_survives_a_server_that_is_killed_or_is_told_twice_to_stop(servers: Callable[[], Server]) -> None:
    server = servers()
    assert server.said("Choose the password of admin@localhost")  # nobody has
    children = server.children()
    assert set(children) == {"web", "worker", "beat"}
    server.process.kill()
    server.process.wait()
    wait_until(lambda: not any(map(alive, children.values())))
    server = servers()
    os.kill(server.child("worker"), signal.SIGSTOP)
    assert server.stop_after(2) < 30


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


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, list[str]]:
    """A checkout whose environment was made anew by a command, and that command's exit status and lines."""
    checkout = make_checkout(tmp_path_factory.mktemp("checkout"), "./missing\n")
    (checkout / ".venv" / "bin").mkdir(parents=True)  # what an interruption of the making leaves
    return checkout, *run("script/hello", cwd=checkout)


def test_the_environment_is_made_once_and_repaired_after_an_interruption(
    repaired: tuple[Path, int, list[str]],
) -> None:
    checkout, status, lines = repaired
    assert status == 1
    assert lines[0].startswith("Making the environment .venv with Python 3")
    assert lines[-1].startswith("Not all packages of requirements.txt could be installed")

    (checkout / "requirements.txt").write_text("# nothing\n")
    status, lines = run("script/hello", cwd=checkout)
    assert (status, lines[-1]) == (0, "42")
    assert not any(line.startswith("Making the environment") for line in lines)
    assert run("script/hello", cwd=checkout) == (0, ["42"])


def test_a_package_is_counted_and_installed_only_if_its_file_has_the_pinned_hash(
    repaired: tuple[Path, int, list[str]],
) -> None:
    checkout = repaired[0]
    wheel = checkout / "harmless_thing-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as file:
        about = "harmless_thing-1.0.dist-info"
        file.writestr("harmless_thing.py", "")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: harmless-thing\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")
    pinned = "./harmless_thing-1.0-py3-none-any.whl"
    for requirements in (f"{pinned} --hash=sha256:{'0' * 64}\n", f"{pinned}\n"):
        (checkout / "requirements.txt").write_text(requirements)
        status, lines = run("script/hello", cwd=checkout)
        assert status == 1
        assert lines[-1].startswith("Not all packages of requirements.txt could be installed")

    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (checkout / "requirements.txt").write_text(f"{pinned} --hash=sha256:{digest}\n")
    status, lines = run("script/hello", cwd=checkout)
    assert (status, lines[-1]) == (0, "42")
    assert re.search(r": harmless_thing| \+ harmless-thing==1\.0", "\n".join(lines))  # of pip, or of uv
    (checkout / ".venv" / "installed-requirements.txt").unlink()
    status, lines = run("script/hello", cwd=checkout, UV_CONFIG_FILE="/nowhere")  # which stops uv
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
