"""The engines of our own, started, shared, killed and stopped by real processes."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import psycopg
import pytest
import redis

from config import embedded
from config.embedded import postgres as postgres_module, redis as redis_module
from config.embedded.account import account_for, run_as
from config.embedded.locks import is_free
from config.embedded.postgres import Postgres, as_superuser
from config.embedded.redis import Redis
from tests.process.conftest import wait_until

_CHECKOUT = Path(__file__).resolve().parents[3]
_USE = """
import sys
from config import embedded
print(*embedded.urls(*sys.argv[1:]), flush=True)
if sys.stdin.readline() == "leave":
    embedded.leave()
"""

# An unprivileged user who may yet read this checkout and its Python, wherever root has put them.
_AS_NOBODY = [
    *("setpriv", "--reuid=nobody", f"--regid={pwd.getpwnam('nobody').pw_gid}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]


class User:
    """A process that uses the engines of `var` until the end of its `with` block."""

    def __init__(self, var: Path, *given: str, plain: bool = False) -> None:
        self.process = subprocess.Popen(
            [*(_AS_NOBODY if plain else []), sys.executable, "-c", _USE, *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=_CHECKOUT,
            env={"PATH": os.environ["PATH"], "CARILLON_VAR": str(var)},
        )

    def ready(self) -> tuple[str, str]:
        assert self.process.stdout and self.process.stderr
        words = self.process.stdout.readline().split()
        assert len(words) == 2, self.process.stderr.read()
        return words[0], words[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        self.process.communicate("leave", timeout=120)

    def __enter__(self) -> User:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:  # closes its input, which ends it, and our ends of the pipes
            pass


@pytest.fixture
def empty_var() -> Iterator[Path]:
    with make_var() as directory:
        yield directory


@pytest.fixture(scope="module")
def shared_var() -> Iterator[Path]:
    with make_var() as directory:
        yield directory


@pytest.fixture
def var(shared_var: Path) -> Iterator[Path]:
    """A directory that has seen other tests, to spare each the making of a database; nothing runs in it."""
    yield shared_var
    stop_engines(shared_var)


class make_var:
    """A directory for engines; whatever still runs in it is stopped at the end."""

    def __init__(self, name: str = "") -> None:
        self.top = Path(tempfile.mkdtemp(prefix="carillon-test-", dir="/tmp"))
        self.path = self.top / name

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        stop_engines(self.path)
        shutil.rmtree(self.top)


def stop_engines(var: Path) -> None:
    for engine in (Postgres(var), Redis(var)):
        if engine.home.exists() and not is_free(engine.home / "keeper"):
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(keeper_pid(engine), signal.SIGTERM)
            wait_until(lambda home=engine.home: is_free(home / "keeper"))  # type: ignore[misc]


def keeper_pid(engine: Postgres | Redis) -> int:
    return int((engine.home / "keeper").read_text())


def server_pid(engine: Postgres | Redis) -> int:
    pid = engine.recorded_pid()
    assert pid is not None and engine.is_server(pid)
    return pid


def remember(urls: tuple[str, str], word: str) -> None:
    """Keep a word in both engines."""
    with psycopg.connect(urls[0]) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS words (word text)")
        connection.execute("INSERT INTO words VALUES (%s)", [word])
    with redis.Redis.from_url(urls[1]) as client:
        client.sadd("words", word)


def remembers(urls: tuple[str, str], word: str) -> bool:
    """Whether both engines know the word."""
    with psycopg.connect(urls[0]) as connection:
        row = connection.execute("SELECT 1 FROM words WHERE word = %s", [word]).fetchone()
    with redis.Redis.from_url(urls[1]) as client:
        return row is not None and bool(client.sismember("words", word))


def test_processes_that_start_at_once_share_one_engine_of_each_kind(empty_var: Path) -> None:
    (empty_var / "postgres" / "making-1").mkdir(parents=True)  # left by a first start that was interrupted
    with ExitStack() as stack:
        users = [stack.enter_context(User(empty_var)) for _ in range(3)]
        urls = {user.ready() for user in users}
        assert len(urls) == 1
        database_url, redis_url = urls.pop()
        with psycopg.connect(database_url) as connection:
            asked = "SELECT current_database(), current_setting('server_encoding'), current_setting('TimeZone')"
            assert connection.execute(asked).fetchone() == ("carillon", "UTF8", "UTC")
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            assert connection.execute("SHOW data_checksums").fetchone() == ("on",)
        with redis.Redis.from_url(redis_url) as client:
            assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert [path.name for path in (empty_var / "postgres").glob("making-*")] == []


def handed_over(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        asked = "SELECT current_user, rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        assert connection.execute(asked).fetchone() == ("carillon", False, False, False)
        connection.execute("ALTER TABLE kept ADD COLUMN IF NOT EXISTS more int")
        connection.execute("INSERT INTO kept DEFAULT VALUES")
        connection.execute("CREATE OR REPLACE FUNCTION nothing() RETURNS int LANGUAGE sql AS 'SELECT 2'")


def test_the_database_is_used_as_a_role_that_owns_it_and_nothing_else(empty_var: Path) -> None:
    with User(empty_var) as user:
        url = user.ready()[0]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY)")
            connection.execute("CREATE FUNCTION nothing() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        handed_over(url)
        with psycopg.connect(as_superuser(url), autocommit=True) as connection:  # as an earlier release left it
            connection.execute("REASSIGN OWNED BY carillon TO postgres")
            connection.execute("DROP ROLE carillon")
    postgres = Postgres(empty_var)
    wait_until(lambda: postgres.running_pid() is None)
    (postgres.data / "carillon.role").unlink()
    with User(empty_var) as user:
        handed_over(user.ready()[0])


def ports_listened_on(pid: int) -> list[str]:
    """The TCP ports, in hexadecimal, that a process and those of its kind listen on."""
    sockets = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(path))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [line[1].rpartition(":")[2] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def open_to_others(top: Path) -> list[tuple[str, str]]:
    """What of `top` anybody but its owner may use; as root, but for the engines' account passing to their data."""
    found = []
    for path in (top, *top.rglob("*")):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
        except FileNotFoundError:
            continue  # an engine has removed it meanwhile
        passed = path.is_dir() and os.geteuid() == 0 and path in (top, top / "postgres", top / "redis")
        if mode & (0o067 if passed else 0o077):
            found.append((str(path.relative_to(top)), oct(mode)))
    return found


def test_the_engines_listen_on_no_port_and_nobody_else_can_enter_their_directories(var: Path) -> None:
    with User(var) as user:
        user.ready()
        for engine in (Postgres(var), Redis(var)):
            assert ports_listened_on(server_pid(engine)) == []
            assert stat.S_IMODE(engine.socket.parent.stat().st_mode) == 0o700
        assert open_to_others(var / "redis") == open_to_others(var / "postgres" / "run") == []


def test_a_directory_that_was_open_to_others_is_closed_and_so_is_what_is_written_from_then_on(var: Path) -> None:
    with User(var) as user:
        user.ready()
        user.leave()
    (var / "mail").mkdir(exist_ok=True)
    for path in (var, var / "mail", var / "postgres", var / "redis"):
        path.chmod(0o755)
    for path in (var / "mail" / "old.log", var / "postgres" / "log"):
        path.write_text("https://carillon.example/reset")
        path.chmod(0o644)
    (var / "mail" / "elsewhere").symlink_to("/etc/hosts")
    mode = Path("/etc/hosts").stat().st_mode
    write = "from config import embedded; embedded.urls(); open(f'{embedded.var_dir()}/mail/new.log', 'w').close()"
    subprocess.run(
        [sys.executable, "-c", write],
        env={"PATH": os.environ["PATH"], "CARILLON_VAR": str(var)},
        cwd=_CHECKOUT,
        check=True,
        umask=0o022,
    )
    (var / "mail" / "elsewhere").unlink()
    assert open_to_others(var) == []
    assert Path("/etc/hosts").stat().st_mode == mode


def test_the_log_of_the_database_holds_nothing_that_people_wrote(var: Path) -> None:
    with User(var) as user:
        database_url, _ = user.ready()
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS secrets (word text UNIQUE)")
            connection.execute("INSERT INTO secrets VALUES ('hush-hush') ON CONFLICT DO NOTHING")
            for statement in ("INSERT INTO secrets VALUES ('hush-hush')", "SELECT 'hush-hush'::int"):
                with pytest.raises(psycopg.Error, match="hush-hush"):
                    connection.execute(statement)
            pid = connection.info.backend_pid
            with psycopg.connect(database_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
        wait_until(lambda: str(pid) not in os.listdir("/proc"))
        user.leave()
    assert "ready to accept connections" in (var / "postgres" / "log").read_text()
    assert "hush" not in (var / "postgres" / "log").read_text()


def test_engines_stop_a_few_seconds_after_their_last_user_was_killed_and_keep_what_they_know(var: Path) -> None:
    with User(var) as user:
        urls = user.ready()
        remember(urls, "Glocke")
        killed_at = time.monotonic()
        user.kill()
    wait_until(lambda: is_free(var / "postgres" / "keeper") or is_free(var / "redis" / "keeper"))
    assert time.monotonic() - killed_at > 2  # warm for the next command
    wait_until(lambda: is_free(var / "postgres" / "keeper") and is_free(var / "redis" / "keeper"))
    assert Postgres(var).recorded_pid() is None and Redis(var).recorded_pid() is None
    with User(var) as user:
        assert user.ready() == urls
        assert remembers(urls, "Glocke")


def test_the_last_to_leave_on_purpose_stops_the_engines_at_once_and_an_earlier_one_does_not(var: Path) -> None:
    with User(var) as first, User(var) as last:
        first.ready()
        last.ready()
        first.leave()
        assert Postgres(var).answers() and Redis(var).answers()
        last.leave()
        assert Postgres(var).recorded_pid() is None and Redis(var).recorded_pid() is None


def test_engines_live_on_when_their_keeper_is_killed_and_the_next_start_adopts_them(var: Path) -> None:
    engines = Postgres(var), Redis(var)
    with User(var) as user:
        urls = user.ready()
        servers = [server_pid(engine) for engine in engines]
        for engine in engines:
            os.kill(keeper_pid(engine), signal.SIGKILL)
            wait_until(lambda home=engine.home: is_free(home / "keeper"))  # type: ignore[misc]
        with User(var) as other:
            assert other.ready() == urls
            assert [server_pid(engine) for engine in engines] == servers
            assert not any(is_free(engine.home / "keeper") for engine in engines)
            user.kill()
            os.kill(servers[0], signal.SIGKILL)  # adopted engines are looked after like born ones
            wait_until(lambda: Postgres(var).answers() and server_pid(engines[0]) != servers[0])
            other.leave()
    assert [engine.recorded_pid() for engine in engines] == [None, None]


def test_killed_engines_are_started_again_under_their_users_with_what_was_committed(var: Path) -> None:
    engines = Postgres(var), Redis(var)
    with User(var) as user:
        urls = user.ready()
        remember(urls, "Uhr")
        before = [server_pid(engine) for engine in engines]
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        for engine, pid in zip(engines, before, strict=True):
            wait_until(lambda engine=engine, pid=pid: engine.answers() and engine.recorded_pid() != pid)  # type: ignore[misc]
        assert remembers(urls, "Uhr")


def test_the_next_start_recovers_when_everything_was_killed(var: Path) -> None:
    engines = Postgres(var), Redis(var)
    with User(var) as user:
        urls = user.ready()
        remember(urls, "Turm")
        for pid in [*map(keeper_pid, engines), *map(server_pid, engines)]:
            os.kill(pid, signal.SIGKILL)
        user.kill()
    wait_until(lambda: not Redis(var).answers())
    with User(var) as user:
        assert user.ready() == urls
        assert remembers(urls, "Turm")


def test_a_number_that_went_to_another_process_after_a_reboot_does_not_keep_postgres_from_starting(var: Path) -> None:
    postgres = Postgres(var)
    with User(var, "", "redis://given") as user:
        user.ready()
        notes = (postgres.data / "postmaster.pid").read_text()
        user.leave()
    stranger = subprocess.Popen(["sleep", "600"], **run_as(account_for(postgres.data)))
    try:
        (postgres.data / "postmaster.pid").write_text(f"{stranger.pid}\n{notes.partition(chr(10))[2]}")
        with User(var, "", "redis://given") as user:
            user.ready()
            assert server_pid(postgres) != stranger.pid
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_two_checkouts_live_side_by_side_even_one_whose_path_is_too_long_for_a_socket(var: Path) -> None:
    with make_var("long-" * 12 + "/" + "path-" * 12) as other_var, User(var) as user, User(other_var) as other:
        ours, theirs = user.ready(), other.ready()
        assert not set(ours) & set(theirs)
        remember(ours, "ours")
        remember(theirs, "theirs")
        assert remembers(ours, "ours")
        assert remembers(theirs, "theirs")
        assert not remembers(ours, "theirs")
        other.leave()
        assert Postgres(var).answers() and Redis(var).answers()
        for engine in (Postgres(other_var), Redis(other_var)):
            assert not engine.socket.is_relative_to(other_var)  # the short path
            engine.socket.parent.rmdir()


def test_only_the_engine_that_is_not_given_is_started(empty_var: Path) -> None:
    with User(empty_var, "postgresql://given") as user:
        database_url, redis_url = user.ready()
        assert database_url == "postgresql://given"
        assert redis_url.startswith("unix://")
        assert not (empty_var / "postgres").exists()


def test_a_plain_user_has_engines_too(empty_var: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test of this file shows it: we are a plain user")
    nobody = pwd.getpwnam("nobody")
    os.chown(empty_var, nobody.pw_uid, nobody.pw_gid)
    with User(empty_var, plain=True) as user:
        urls = user.ready()
        remember(urls, "plain")
        assert remembers(urls, "plain")
        assert (empty_var / "postgres" / "data").stat().st_uid == nobody.pw_uid
        user.leave()


def test_what_belongs_to_another_user_is_said_in_one_line(empty_var: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a directory that is another's")
    (empty_var / "postgres").mkdir()
    with User(empty_var, plain=True) as user:
        said = user.process.communicate()[1].strip().splitlines()[-1]
    assert "cannot be used by this user" in said and "CARILLON_VAR" in said


def test_a_directory_that_cannot_be_made_is_said_in_one_line(empty_var: Path) -> None:
    (empty_var / "file").touch()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(embedded.EngineFailed, match=r"file.* cannot be used"):
        patch.setenv("CARILLON_VAR", str(empty_var / "file"))
        embedded.urls()


@pytest.mark.parametrize(("module", "variable"), [(postgres_module, "DATABASE_URL"), (redis_module, "REDIS_URL")])
def test_an_engine_that_is_not_installed_is_said_in_one_line(
    module: object, variable: str, empty_var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CARILLON_VAR", str(empty_var))
    given = ("", "redis://given") if variable == "DATABASE_URL" else ("postgresql://given", "")
    with pytest.raises(embedded.EngineFailed) as failed:
        embedded.urls(*given)
    assert variable in str(failed.value)
    assert "\n" not in str(failed.value)


def test_an_engine_that_does_not_start_says_why_in_one_line(var: Path) -> None:
    with User(var, "", "redis://given") as user:
        user.ready()
        user.leave()
    version = var / "postgres" / "data" / "PG_VERSION"
    right = version.read_text()
    version.write_text("11\n")
    with User(var, "", "redis://given") as user:
        said = user.process.communicate()[1].strip().splitlines()[-1]
    version.write_text(right)
    assert "was made by PostgreSQL 11" in said
    assert "DATABASE_URL" in said


def test_kept_secrets_are_made_once_and_are_their_owners_alone(
    empty_var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARILLON_VAR", str(empty_var))
    secret = embedded.stored_text("secret-key", 48)
    assert len(secret) >= 50
    assert embedded.stored_text("secret-key", 48) == secret
    assert embedded.stored_text("encryption-key", 32) != secret
    assert stat.S_IMODE((empty_var / "secret-key").stat().st_mode) == 0o600
    assert sorted(path.name for path in empty_var.iterdir()) == ["encryption-key", "secret-key"]
