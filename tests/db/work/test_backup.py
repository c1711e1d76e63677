"""A backup is one encrypted file that restores to the same rows, or there is none."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from common.database.postgres import query
from people.models import User
from tests.make import make_user
from work.backup import BackupError, archive, newest, place, postgres, restore, take
from work.models import Backup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.BACKUP_KEY = archive.new_key()
    settings.BACKUP_TO = str(tmp_path / "backups")
    return tmp_path / "backups"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def only(folder: Path) -> str:
    [name] = files(folder)
    return str(folder / name)


def test_holds_each_row_and_the_keys(ada: User, folder: Path, settings: Settings) -> None:
    taken = take.back_up()
    assert taken is not None and files(folder) == [taken.name]
    checked = restore.check(only(folder))
    assert checked["rows"]["people_user"] == 1
    assert checked["keys"]["ENCRYPTION_KEYS"] == settings.ENCRYPTION_KEYS
    assert checked["keys"]["SECRET_KEY"] == settings.SECRET_KEY
    assert not query("SELECT FROM pg_database WHERE datname = %s", [f"{connection.settings_dict['NAME']}_check"])
    assert taken.size == Path(only(folder)).stat().st_size == Backup.objects.get().size


def test_nothing_in_the_file_can_be_read_without_the_key(ada: User, folder: Path, settings: Settings) -> None:
    take.back_up()
    content = Path(only(folder)).read_bytes()
    assert settings.SECRET_KEY.encode() not in content and b"people_user" not in content
    settings.BACKUP_KEY = archive.new_key()
    with pytest.raises(BackupError, match="does not open"):
        restore.check(only(folder))


@pytest.mark.parametrize("length", [100, -1000, -1])
def test_a_file_that_was_cut_short_is_refused(folder: Path, length: int) -> None:
    take.back_up()
    file = Path(only(folder))
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(BackupError):
        restore.check(str(file))


def test_missing_rows_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(postgres, "rows", lambda of: {"people_user": 3})
        take.back_up()
    with pytest.raises(CommandError, match=r"django_migrations: 0 in the manifest, .*people_user: 3 in .*, 0"):
        call_command("backup", check=only(folder))


def test_a_failure_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / ".carillon-20200101T000000Z.age.part").touch()  # of a process that was killed
    real = postgres.program

    def failing(name: str, *options: str, **more: object) -> object:
        return real(name, *options, "--no-such-option", **more)

    monkeypatch.setattr(postgres, "program", failing)
    with pytest.raises(CommandError, match="pg_dump failed"):
        call_command("backup")
    assert files(folder) == [] and not Backup.objects.exists()


def test_programs_older_than_the_server_are_refused(
    folder: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "pg_dump"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 13.4 (Debian 13.4-1)'\n")
    old.chmod(0o755)
    settings.POSTGRES_PROGRAMS = ""
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    with pytest.raises(BackupError, match="pg_dump is of PostgreSQL 13, the server of 18"):
        take.back_up()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupError, match="not installed"):
        take.back_up()


def test_one_at_a_time(folder: Path) -> None:
    with postgres.connect() as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(%s)", [take._LOCK])
        with pytest.raises(CommandError, match="another process"):
            call_command("backup")
        call_command("backup", if_due=True)
    assert not folder.exists()


def test_once_in_its_hours_and_only_the_newest_stay(folder: Path, settings: Settings) -> None:
    settings.BACKUP_KEEP = 2
    folder.mkdir()
    for name in ("carillon-20200101T000000Z.age", "carillon-20210101T000000Z.age", "carillon-other.age"):
        (folder / name).touch()
    assert newest.is_due() and newest.problem()
    taken = take.back_up(only_if_due=True)
    assert taken is not None and not newest.is_due() and not newest.problem()
    assert take.back_up(only_if_due=True) is None
    assert files(folder) == ["carillon-20210101T000000Z.age", taken.name, "carillon-other.age"]
    elsewhere = folder.with_name("elsewhere")  # where all stay
    elsewhere.mkdir()
    for year in (2020, 2021):
        (elsewhere / f"carillon-{year}0101T000000Z.age").touch()
    assert take.back_up(str(elsewhere)) is not None
    assert len(files(elsewhere)) == 3
    Backup.objects.update(taken_at=timezone.now() - timedelta(hours=49))
    assert newest.is_due() and taken.taken_at.strftime("%Y") in newest.problem()
    settings.BACKUP_TO = ""
    assert not newest.is_due() and not newest.problem()


def test_a_filled_database_is_not_restored_over(ada: User, folder: Path) -> None:
    take.back_up()
    with pytest.raises(CommandError, match="the database is not empty"):
        call_command("restore", only(folder))
    assert User.objects.exists()


def test_a_backup_of_a_newer_version_or_with_other_keys_is_refused(
    folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    take.back_up()
    manifest = restore.manifest_of(only(folder))
    restore._accept(manifest)
    with pytest.raises(BackupError, match=r"Carillon 9.0 made this backup, with work.0999_new"):
        restore._accept(manifest | {"carillon": "9.0", "migrations": ["work.0999_new"]})
    other = manifest | {"keys": manifest["keys"] | {"ENCRYPTION_KEYS": ["another"]}}
    monkeypatch.setenv("ENCRYPTION_KEYS", "given")
    with pytest.raises(BackupError, match="ENCRYPTION_KEYS is another one"):
        restore._accept(other)


def test_generated_keys_are_put_back(
    folder: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS"):
        monkeypatch.delenv(name, raising=False)
    take.back_up()
    manifest = restore.manifest_of(only(folder))
    restore._accept(manifest | {"keys": {"SECRET_KEY": "former", "ENCRYPTION_KEYS": ["new", "old"]}})
    assert (tmp_path / "secret-key").read_text() == "former"
    assert (tmp_path / "encryption-key").read_text() == "new,old"


def test_the_keys_of_a_backup_can_be_read(folder: Path, settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    take.back_up()
    call_command("restore", only(folder), keys=True)
    printed = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines() if line.startswith("SECRET"))
    assert printed == {"SECRET_KEY": settings.SECRET_KEY}


class _Bucket(BaseHTTPRequestHandler):
    """As much of S3 as is used: objects in one request or in parts, and a list."""

    objects: dict[str, bytes]
    parts: dict[int, bytes]

    def _answer(self, body: bytes = b"", **headers: str) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PUT(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if number := parse_qs(url.query).get("partNumber"):
            self.parts[int(number[0])] = body
        else:
            self.objects[url.path] = body
        self._answer(ETag='"1"')

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if url.query == "delete":
            for key in re.findall("<Key>([^<]+)", body):
                del self.objects[f"/bucket/{key}"]
            self._answer(b"<DeleteResult><Deleted><Key>k</Key></Deleted></DeleteResult>")
            return
        if url.query.startswith("uploads"):
            self._answer(b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
            return
        self.objects[url.path] = b"".join(self.parts[number] for number in sorted(self.parts))
        self._answer(b'<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>')

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if "list-type" in url.query:
            listed = "".join(
                f"<Contents><Key>{path.removeprefix('/bucket/')}</Key><Size>{len(body)}</Size>"
                '<LastModified>2026-01-01T00:00:00Z</LastModified><ETag>"1"</ETag></Contents>'
                for path, body in self.objects.items()
            )
            self._answer(f"<ListBucketResult><Name>bucket</Name>{listed}</ListBucketResult>".encode())
        elif (body := self.objects.get(url.path)) is None:
            self.send_error(404)
        elif asked := self.headers["Range"]:
            first, last = map(int, asked.removeprefix("bytes=").split("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            self.wfile.write(body[first : last + 1])
        else:
            self._answer(body, ETag='"1"', **{"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"})

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Bucket]]:
    _Bucket.objects, _Bucket.parts = {}, {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bucket)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    for name, value in {
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
        "ENDPOINT": address,
        "ALLOW_HTTP": "on",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    yield _Bucket
    server.shutdown()
    thread.join()
    server.server_close()


def test_in_a_bucket(bucket: type[_Bucket], settings: Settings) -> None:
    make_user(email="ada@example.org")
    settings.BACKUP_TO, settings.BACKUP_KEEP = "s3://bucket/home", 1
    bucket.objects["/bucket/home/carillon-20200101T000000Z.age"] = b""
    taken = take.back_up()
    assert taken is not None and list(bucket.objects) == [f"/bucket/home/{taken.name}"]
    assert restore.check(f"s3://bucket/home/{taken.name}")["rows"]["people_user"] == 1
    with pytest.raises(CommandError, match="not found"):
        call_command("backup", check="s3://bucket/home/none.age")


def test_what_fails_on_its_way_into_a_bucket_is_no_file(bucket: type[_Bucket]) -> None:
    large = b"x" * 11 * 1024 * 1024
    with pytest.raises(ZeroDivisionError), place.place("s3://bucket").writer("half") as file:
        file.write(large)
        raise ZeroDivisionError
    assert not bucket.objects
    with place.place("s3://bucket").writer("whole") as file:
        file.write(large)
    assert bucket.objects == {"/bucket/whole": large}
