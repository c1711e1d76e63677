"""Sessions with the mail server that stay open for the next mail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from django.core import mail

from demo.receivers import SMTPReceiver
from notifications.messages.message import Delivered, Rejected
from notifications.net import smtp
from notifications.net.deadline import within
from tests.network import make_message
from tests.unit.notifications.providers.test_email import ADA, EMAIL, mail_server


@pytest.fixture
def receiver() -> Iterator[SMTPReceiver]:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        yield receiver


def test_mails_share_a_session(receiver: SMTPReceiver) -> None:
    for _ in range(5):
        assert EMAIL.send(make_message(), ADA) == Delivered()
    assert (len(receiver.mails), receiver.connections) == (5, 1)


def test_a_session_ends_after_a_number_of_mails(receiver: SMTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "MAILS_PER_SESSION", 2)
    for _ in range(5):
        assert EMAIL.send(make_message(), ADA) == Delivered()
    assert (len(receiver.mails), receiver.connections) == (5, 3)


def test_a_session_that_was_idle_too_long_is_not_used(receiver: SMTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "IDLE_SECONDS", 0.01)
    EMAIL.send(make_message(), ADA)
    time.sleep(0.02)
    assert EMAIL.send(make_message(), ADA) == Delivered()
    assert receiver.connections == 2


def test_a_session_that_the_server_refused_something_in_is_not_used_again(receiver: SMTPReceiver) -> None:
    receiver.replies["RCPT"] = "550 5.1.1 No such mailbox"
    assert isinstance(EMAIL.send(make_message(), ADA), Rejected)
    receiver.replies.clear()
    assert EMAIL.send(make_message(), ADA) == Delivered()
    assert receiver.connections == 2


def test_a_restart_of_the_server_costs_no_try() -> None:
    with SMTPReceiver() as first, mail_server(first.port):
        EMAIL.send(make_message(), ADA)
    with SMTPReceiver(port=first.port) as second, mail_server(second.port):
        assert EMAIL.send(make_message(), ADA) == Delivered()
        assert len(second.mails) == 1


def test_another_password_gets_another_session(receiver: SMTPReceiver) -> None:
    EMAIL.send(make_message(), ADA)
    with mail_server(receiver.port, EMAIL_HOST_PASSWORD="planted"):
        EMAIL.send(make_message(), ADA)
    assert receiver.connections == 2


def test_only_a_few_sessions_are_kept(receiver: SMTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "IDLE_SESSIONS", 2)
    with within(10.0):
        sessions = [mail.get_connection() for _ in range(3)]
        for session in sessions:  # at the same time, as threads would
            session.open()
        for session in sessions:
            session.send_messages([mail.EmailMessage("Subject", "Body", to=["ada@example.org"])])
            session.close()
    assert (len(smtp._idle), receiver.connections) == (2, 3)


def test_a_forked_process_opens_its_own(receiver: SMTPReceiver) -> None:
    EMAIL.send(make_message(), ADA)
    child = os.fork()
    if child == 0:
        os._exit(len(smtp._idle))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert EMAIL.send(make_message(), ADA) == Delivered()
    assert receiver.connections == 1
