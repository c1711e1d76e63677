import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path

import hypothesis
import pytest
from django.core import mail
from django.template.loader import render_to_string
from django.test import override_settings
from hypothesis import strategies
from pytest_django.fixtures import Settings

from demo.receivers import DROP, HANG, SMTPReceiver
from notifications import providers
from notifications.messages import links as links_of
from notifications.messages.message import Delivered, Destination, Rejected
from notifications.providers import email
from notifications.reasons import DeliveryCode
from tests.network import KEY, SLACK, closed_port, make_message, raw_server, shape_of, text_of
from work.answers import Ambiguous, Answer, Retryable
from work.reasons import Reason

EMAIL = providers.get("email")
ADA = Destination(address={"address": "ada@example.org"})

VALID = [{"address": "ada@example.org"}, {"address": "  Ada.Lovelace+x@mail.example.org "}]
WRONG = ["", "ada", "ada@", "ada@example", "ada@example.org, bob@example.org", "Ada <ada@example.org>"]
WRONG += ["ada@example.org\nBcc: bob@example.org", "root@[127.0.0.1]", "root@[10.0.0.1]", "ada@[93.184.216.34]"]
INVALID = [({}, "address"), *[({"address": address}, "address") for address in WRONG]]


@contextmanager
def mail_server(port: int, **more: object) -> Iterator[None]:
    server = {
        "EMAIL_BACKEND": "notifications.net.smtp.Backend",
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": "",
        "EMAIL_HOST_PASSWORD": "",
        "EMAIL_USE_TLS": False,
        "EMAIL_USE_SSL": False,
    }
    with override_settings(**{**server, **more}):
        yield


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "QUIT_SECONDS", 0.2)
    monkeypatch.setattr(email.Email, "deadline", 0.6)


@pytest.fixture
def receiver() -> Iterator[SMTPReceiver]:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        yield receiver


def worlds() -> Iterator[Destination]:
    """A destination, while the mail server is in many different states."""
    for command in ("MAIL", "RCPT", "DATA"):
        for reply in ("250 OK", "451 4.3.0 Later", "550 5.1.1 No such mailbox", "554 planted-not", DROP):
            with SMTPReceiver() as receiver, mail_server(receiver.port):
                receiver.replies[command] = reply
                yield ADA
    with mail_server(closed_port(), EMAIL_HOST_PASSWORD="planted"):
        yield ADA


def test_every_try_has_the_same_message_id(receiver: SMTPReceiver) -> None:
    receiver.replies["DATA"] = "451 Later"
    for _ in range(2):
        EMAIL.send(make_message(), ADA)
    first, second = (sent.message["Message-ID"] for sent in receiver.mails)
    assert first == second
    assert str(KEY) in first


def test_a_mail_arrives_unchanged(receiver: SMTPReceiver, settings: Settings) -> None:
    settings.DEFAULT_FROM_EMAIL = "Carillon <bells@carillon.example>"
    body = "The ferns too. ☂\n.\n..dots\n" + "long " * 400
    assert EMAIL.send(make_message(body=body), ADA) == Delivered()
    (sent,) = receiver.mails
    assert (sent.sender, sent.recipients) == ("bells@carillon.example", ["ada@example.org"])
    assert sent.message["From"] == "Carillon <bells@carillon.example>"
    assert sent.message["Subject"] == "Water the plants"
    assert sent.message["Message-ID"] == f"<{KEY}@carillon.example>"
    assert text_of(sent.message, "plain").rstrip("\n") == body


@pytest.mark.parametrize(
    "subject",
    ["Hi\r\nBcc: bob@example.org", "Hi\nBcc: bob@example.org", "Hi\r\n\r\nBcc: bob@example.org", "Hi\x0bBcc\x00"],
)
def test_a_subject_injects_no_header(receiver: SMTPReceiver, subject: str) -> None:
    assert EMAIL.send(make_message(subject=subject), ADA) == Delivered()
    (sent,) = receiver.mails
    assert sent.recipients == ["ada@example.org"]
    assert sent.message["Bcc"] is None
    assert sent.message["Subject"].startswith("Hi Bcc")


@pytest.mark.parametrize(
    "address", ["ada@example.org\nBcc: bob@example.org", "", "no address", "ada@example.org\r\nDATA"]
)
def test_a_damaged_address_is_rejected(receiver: SMTPReceiver, address: str) -> None:
    assert isinstance(EMAIL.send(make_message(), Destination(address={"address": address})), Rejected)
    assert receiver.mails == []


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
@hypothesis.given(subject=strategies.text(max_size=200), body=strategies.text(max_size=400))
def test_no_text_changes_whom_a_mail_goes_to_or_what_it_says(subject: str, body: str) -> None:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        assert EMAIL.send(make_message(subject=subject, body=body), ADA) == Delivered()
    (sent,) = receiver.mails
    headers = ["Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To"]
    assert (sent.recipients, sorted(sent.message.keys())) == (["ada@example.org"], headers)
    lines = re.split(r"\r\n|\r|\n", text_of(sent.message, "plain").rstrip("\r\n"))
    assert not body or lines == re.split(r"\r\n|\r|\n", body.rstrip("\r\n"))
    assert shape_of(text_of(sent.message, "html")) == shape_of(render_to_string("notifications/mail.html"))


SUBJECTS = [
    "Zusammenfassung Ihrer Bestellung für Straßenbahnfahrscheine — Müllabfuhr",
    "ü" * 200,
    "😀" * 100,
    "東京 " * 60 + "x",
    "=?utf-8?q?Bill?= is a word that we did not encode",
    "a" * 200,
]
SENDERS = [
    ("Glöckchen <bells@carillon.example>", "Glöckchen"),
    ('"Müller, Anna (Büro)" <bells@carillon.example>', "Müller, Anna (Büro)"),
    (f"{'Straßenbahnfahrscheine ' * 6}GmbH <bells@bücher.example>", f"{'Straßenbahnfahrscheine ' * 6}GmbH"),
    ("Carillon <bells@carillon.example>", "Carillon"),
]


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize(("sender", "name"), SENDERS)
def test_each_header_that_arrives_is_as_its_standard_says(
    receiver: SMTPReceiver, settings: Settings, subject: str, sender: str, name: str
) -> None:
    settings.DEFAULT_FROM_EMAIL = sender
    assert EMAIL.send(make_message(subject=subject, unsubscribe_url=URL), ADA) == Delivered()
    (sent,) = receiver.mails
    head, _, _ = sent.content.partition(b"\n\n")
    for line in head.split(b"\n"):
        words = re.findall(rb"=\?[^?\s]+\?[bq]\?[^?\s]*\?=", line)
        assert all(len(word) <= 75 for word in words), line  # RFC 2047, 2
        assert len(line) <= (76 if words else 998), line
        assert line.isascii()
        assert line.strip()
    read = message_from_bytes(sent.content, policy=policy.strict)
    assert not [defect for value in read.values() for defect in value.defects]
    assert read["Subject"] == subject
    (address,) = read["From"].addresses
    shown = parseaddr(str(message_from_bytes(sent.content)["From"]))[0]  # the strict policy leaves spaces between words
    assert str(make_header(decode_header(shown))) == name
    assert address.addr_spec in ("bells@carillon.example", "bells@xn--bcher-kva.example")
    assert read["Auto-Submitted"] == "auto-generated"
    assert read["List-Unsubscribe"] == f"<{URL}>"


@pytest.mark.parametrize(
    ("base", "host"),
    [
        ("https://carillon.example", "carillon.example"),
        ("https://Glocke.Bücher.example:8443", "glocke.xn--bcher-kva.example"),
        ("http://127.0.0.1:8000", "localhost"),
        ("http://[::1]:8000", "localhost"),
    ],
)
def test_mails_that_can_be_stopped_belong_to_a_list_of_their_kind(settings: Settings, base: str, host: str) -> None:
    settings.BASE_URL = base
    links = {"messages": links_of.UNSUBSCRIBE, "topics": links_of.LEAVE, "announcements": links_of.STOP}
    for kind, link in links.items():
        assert sent(unsubscribe_url=link.address(KEY))["List-Id"] == f"<{kind}.{host}>"
    assert sent()["List-Id"] is None


def test_errors_go_to_the_operators_address_and_replies_to_the_sender(
    receiver: SMTPReceiver, settings: Settings
) -> None:
    settings.DEFAULT_FROM_EMAIL = "Carillon <bells@carillon.example>"
    settings.MAIL_RETURN_PATH = "bounces@mail.example"
    assert EMAIL.send(make_message(), ADA) == Delivered()
    (sent,) = receiver.mails
    assert (sent.sender, sent.message["From"]) == ("bounces@mail.example", "Carillon <bells@carillon.example>")
    assert sent.message["Message-ID"] == f"<{KEY}@carillon.example>"


def test_a_body_that_cannot_be_encoded_is_rejected(receiver: SMTPReceiver) -> None:
    assert isinstance(EMAIL.send(make_message(body="half a pair: \ud83d"), ADA), Rejected)
    assert receiver.mails == []


def smtp(status: int, said: str) -> dict[str, object]:
    return {"status": status, "said": said, "enhanced": said.partition(" ")[0]}


TOO_LARGE = Rejected(Reason(DeliveryCode.SMTP, **smtp(552, "5.3.4 Too large")))
LATER = [(451, "4.3.0 Later"), (421, "4.3.2 Closing"), (530, "5.7.0 Sign in first")]


@pytest.mark.parametrize(
    ("command", "reply", "answer"),
    [
        *[(command, "552 5.3.4 Too large", TOO_LARGE) for command in ("MAIL", "RCPT", "DATA")],
        (
            "RCPT",
            "550 5.1.1 No such mailbox",
            Rejected(Reason(DeliveryCode.SMTP, **smtp(550, "5.1.1 No such mailbox")), gone=True),
        ),
        *[
            (command, f"{status} {said}", Retryable(Reason(DeliveryCode.SMTP_LATER, **smtp(status, said))))
            for command in ("MAIL", "RCPT", "DATA")
            for status, said in LATER
        ],
        # Lost before the final dot, and after it: only then may it have arrived.
        *[
            (command, DROP, Retryable(Reason(DeliveryCode.BROKEN, service="the mail server")))
            for command in ("MAIL", "RCPT")
        ],
        ("DATA", DROP, Ambiguous(Reason(DeliveryCode.UNCONFIRMED))),
        ("DATA", HANG, Ambiguous(Reason(DeliveryCode.UNCONFIRMED))),
    ],
)
def test_each_reply_of_the_server_has_its_meaning(
    receiver: SMTPReceiver, monkeypatch: pytest.MonkeyPatch, command: str, reply: str, answer: Answer
) -> None:
    if reply == HANG:
        monkeypatch.setattr(email.Email, "deadline", 3.0)  # long enough to come as far as the final dot
    receiver.replies[command] = reply
    assert EMAIL.send(make_message(), ADA) == answer
    assert len(receiver.mails) == (1 if command == "DATA" else 0)


def code_of(answer: Answer) -> str:
    assert isinstance(answer, Retryable)
    return answer.reason.code


def test_a_server_that_cannot_be_reached_is_retried() -> None:
    with mail_server(closed_port()):
        assert code_of(EMAIL.send(make_message(), ADA)) == DeliveryCode.CONNECTION_REFUSED
    with mail_server(25, EMAIL_HOST="nowhere.invalid"):
        assert isinstance(EMAIL.send(make_message(), ADA), Retryable)


def test_a_refused_sign_in_is_retried_without_showing_the_password(receiver: SMTPReceiver) -> None:
    with mail_server(receiver.port, EMAIL_HOST_USER="ada", EMAIL_HOST_PASSWORD="planted"):
        answer = EMAIL.send(make_message(), ADA)
    assert answer == Retryable(Reason(DeliveryCode.MAIL_SIGN_IN))


def test_a_server_without_the_required_encryption_gets_no_mail(receiver: SMTPReceiver) -> None:
    with mail_server(receiver.port, EMAIL_USE_TLS=True):
        assert isinstance(EMAIL.send(make_message(), ADA), Retryable)
    assert receiver.mails == []


def test_each_failure_has_its_reason(receiver: SMTPReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        hurry(patch)
        receiver.replies["MAIL"] = HANG
        assert code_of(EMAIL.send(make_message(), ADA)) == DeliveryCode.TIMEOUT
    with mail_server(25, EMAIL_HOST="a" * 64 + ".example"):
        assert code_of(EMAIL.send(make_message(), ADA)) == DeliveryCode.NAME


def drip_a_greeting(client: socket.socket) -> None:
    while True:
        client.sendall(b"220-still here\r\n")
        time.sleep(0.02)


def drip_after_the_hello(client: socket.socket) -> None:
    client.sendall(b"220 hello\r\n")
    client.recv(1000)
    while True:
        client.sendall(b".")
        time.sleep(0.02)


def stay_silent(client: socket.socket) -> None:
    while client.recv(1000):
        pass


@pytest.mark.parametrize("use_ssl", [False, True])
@pytest.mark.parametrize("talk", [drip_a_greeting, drip_after_the_hello, stay_silent])
def test_no_mail_server_extends_the_deadline(
    talk: Callable[[socket.socket], None], use_ssl: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    with raw_server(talk) as port, mail_server(port, EMAIL_USE_SSL=use_ssl):
        start = time.monotonic()
        assert isinstance(EMAIL.send(make_message(), ADA), Retryable)
        assert time.monotonic() - start < SLACK


@pytest.mark.parametrize("reply_to_quit", [b"", b"221-" + b"x" * 10_000 + b"\r\n", b"554 stay\r\n", b"\xff\r\n"])
def test_an_error_of_quit_does_not_change_the_outcome(reply_to_quit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "QUIT_SECONDS", 0.2)

    def talk(client: socket.socket) -> None:
        client.sendall(b"220 hello\r\n")
        for reply in (b"250 ehlo", b"250 mail", b"250 rcpt", b"354 go on"):
            client.recv(1000)
            client.sendall(reply + b"\r\n")
        while not client.recv(65536).endswith(b"\r\n.\r\n"):
            pass
        client.sendall(b"250 taken\r\n")
        client.recv(1000)
        client.sendall(reply_to_quit)
        stay_silent(client)

    with raw_server(talk) as port, mail_server(port):
        start = time.monotonic()
        assert EMAIL.send(make_message(), ADA) == Delivered()
        assert time.monotonic() - start < SLACK


def test_the_backend_serves_djangos_own_mails_too(receiver: SMTPReceiver) -> None:
    assert mail.send_mail("Reset", "your password", None, ["ada@example.org"]) == 1
    assert len(receiver.mails) == 1


def test_without_a_mail_server_mails_go_to_files_with_a_notice(settings: Settings, tmp_path: Path) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path / "var" / "mail"
    assert EMAIL.notice() == "No mail server is configured: emails are saved in var/mail, not sent."
    assert EMAIL.send(make_message(), ADA) == Delivered(Reason(DeliveryCode.SAVED, folder="var/mail"))
    (written,) = (tmp_path / "var" / "mail").iterdir()
    assert f"<{KEY}@" in written.read_text()


def test_with_a_mail_server_there_is_no_notice(receiver: SMTPReceiver) -> None:
    assert EMAIL.notice() == ""


URL = "https://carillon.example/unsubscribe/abc?x=1&y=2"


def sent(**overrides: str) -> EmailMessage:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        EMAIL.send(make_message(**overrides), ADA)
    [mail] = receiver.mails
    return mail.message


def test_an_email_has_text_first_and_html_with_the_same_content() -> None:
    mail = sent(subject="1 < 2", body="The <b>ferns</b>\n  & moss {{ x }} {% now 'Y' %}")
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    page = text_of(mail, "html")
    assert "The &lt;b&gt;ferns&lt;/b&gt;\n  &amp; moss {{ x }} {% now &#x27;Y&#x27; %}</div>" in page
    assert "<title>1 &lt; 2</title>" in page
    assert "Stop these messages" not in page
    assert mail["List-Unsubscribe"] is None
    marked = sent(body="**The** <ferns>", may_have_marks=True)
    assert text_of(marked, "plain") == "The <ferns>"
    assert "<strong>The</strong> &lt;ferns&gt;" in text_of(marked, "html")


@pytest.mark.parametrize("url", ["", URL])
def test_an_email_says_from_which_team_it_is(url: str) -> None:
    mail = sent(team="<b>Family", unsubscribe_url=url)
    assert "\n-- \nFrom the team “<b>Family”\n" in text_of(mail, "plain")
    assert "From the team “&lt;b&gt;Family”" in text_of(mail, "html")
    assert mail["Subject"] == "Water the plants"


def test_an_email_can_be_unsubscribed_from_by_a_click_or_a_link() -> None:
    mail = sent(unsubscribe_url=URL)
    assert mail["List-Unsubscribe"] == f"<{URL}>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"Stop these messages: {URL}" in text_of(mail, "plain")
    assert 'href="https://carillon.example/unsubscribe/abc?x=1&amp;y=2"' in text_of(mail, "html")


def test_both_parts_link_to_the_answer_page() -> None:
    url = "https://carillon.example/answer/0a1b/"
    mail = sent(answer_url=url, unsubscribe_url=URL)
    text = text_of(mail, "plain")
    assert text.index("The ferns") < text.index(f"Done or snooze: {url}\n") < text.index("Stop these messages")
    page = text_of(mail, "html")
    assert (
        page.index(f'href="{url}">Done</a>') < page.index(f'href="{url}#snooze">Snooze</a>') < page.index("Stop these")
    )


def test_one_click_needs_https() -> None:
    mail = sent(unsubscribe_url="http://127.0.0.1:8000/unsubscribe/abc")
    assert mail["List-Unsubscribe"] == "<http://127.0.0.1:8000/unsubscribe/abc>"
    assert mail["List-Unsubscribe-Post"] is None
