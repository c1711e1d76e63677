"""Pings by mail to the real command, over real SMTP."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import pytest
from django.db import connection

from demo.child import Child, manage_command
from demo.ports import free_port
from people.models import User
from tests.broken_line import Line
from tests.make import make_watch
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment, manage
from watches import changes
from watches.models import Watch

pytestmark = pytest.mark.django_db(transaction=True)
DOMAIN = "ping.example.org"
LINE = b"x" * 70 + b"\r\n"


@contextmanager
def receiver(database: Line) -> Iterator[tuple[int, list[str]]]:
    """The command, which reaches the database over a line that can be cut; its port, and what it writes."""
    held, port = connection.settings_dict, free_port()
    url = f"postgresql://{held['USER']}:{held['PASSWORD']}@127.0.0.1:{database.port}/{held['NAME']}"
    variables = environment(DATABASE_URL=url, PING_DOMAIN=DOMAIN)
    lines: list[str] = []
    process = Child(
        "mail",
        manage_command("receive_pings", f"--port={port}"),
        environment=variables,
        on_line=lambda line, _: lines.append(line),
    )
    process.start()
    try:
        wait_until(lambda: answers(port) or process.exit_status() is not None)
        assert process.exit_status() is None, lines
        yield port, lines
        process.ask_to_stop()
        wait_until(lambda: process.exit_status() is not None)
        assert process.exit_status() == 0, lines
    finally:
        process.stop(0.0)


def answers(port: int) -> bool:
    with suppress(OSError), smtplib.SMTP("127.0.0.1", port, timeout=60) as smtp:
        return smtp.noop()[0] == 250
    return False


def send(port: int, address: str, mail: bytes) -> int:
    """The status of the last answer: to the recipient where it is refused, else to the mail."""
    with smtplib.SMTP("127.0.0.1", port, timeout=120) as smtp:
        try:
            smtp.sendmail("cron@example.org", [address], mail)
        except smtplib.SMTPRecipientsRefused as refused:
            return refused.recipients[address][0]
        except smtplib.SMTPResponseException as refused:
            return refused.smtp_code
        return 250


def address(watch: Watch) -> str:
    return f"{watch.token}@{DOMAIN}"


def test_a_mail_is_a_ping_once_it_is_answered(ada: User) -> None:
    watch, gone, database = make_watch(ada, []), make_watch(ada, []), Line(_socket())
    changes.delete(gone.id)
    database.mend()
    with receiver(database) as (port, lines):
        mail = b"Subject: =?utf-8?q?Backup_f=C3=BCr_heute?=\r\n\r\nAll is well.\r\n"
        assert send(port, address(watch), mail) == 250
        [ping] = watch.pings.all()
        assert (ping.kind, ping.size) == ("success", len(mail))
        assert ping.output.startswith("Backup für heute\n\nSubject:")
        assert "All is well." in ping.output
        assert send(port, address(watch).upper(), b"Subject: x\r\n\r\n" + LINE * 7_000) == 250
        assert len(watch.pings.all()[0].output) == 100_000
        assert send(port, address(watch), LINE * 40_000) == 552
        refused = [address(gone), f"{uuid4()}@{DOMAIN}", f"nothing@{DOMAIN}", f"{watch.token}@example.org"]
        assert [send(port, one, mail) for one in refused] == [550] * 4
        database.cut()
        assert send(port, address(watch), mail) == 451
        database.mend()
        wait_until(lambda: send(port, address(watch), mail) == 250)
        assert watch.pings.count() == 3
    assert str(watch.token) not in "".join(lines)
    database.cut()


def test_without_a_domain_the_command_says_so() -> None:
    refused = manage("receive_pings", PING_DOMAIN="")
    assert refused.returncode == 1
    assert "PING_DOMAIN" in refused.stdout


def _socket() -> str:
    held = connection.settings_dict
    return f"{held['HOST']}/.s.PGSQL.{held['PORT'] or 5432}"
