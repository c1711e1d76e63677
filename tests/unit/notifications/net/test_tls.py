"""HTTP and SMTP under TLS, with our own certificate authority."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django.fixtures import Settings

from demo.receivers import DROP, HTTPReceiver, SMTPReceiver
from demo.receivers.proxy import ProxyReceiver
from notifications import providers
from notifications.messages.message import Delivered
from notifications.net import http
from notifications.net.deadline import tls_context
from notifications.net.http import NotSent, Response
from notifications.reasons import DeliveryCode
from tests.network import SLACK, make_message, raw_server
from tests.unit.notifications.providers.test_email import ADA, hurry, mail_server, stay_silent
from work.answers import Ambiguous, Retryable


class Authority:
    """Signs certificates into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "An authority for tests")])
        self.bundle = folder / "authority.pem"
        self.bundle.write_bytes(self._sign(self.name, self.key.public_key(), []))

    def context(self, host: str, days: int = 30) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        chain = self.folder / f"{host}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain.write_bytes(private + self._sign(subject, key.public_key(), [host], days))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _sign(self, subject: x509.Name, key: Any, hosts: list[str], days: int = 30) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=60))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=not hosts, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def names_and_trust(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **named: Any) -> Any:
        found = real("127.0.0.1" if host.endswith(".example") else host, port, *rest, **named)
        return found * 2 if host == "twice.example" else found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    for made_once in (http._pool, tls_context):
        made_once.cache_clear()
    yield
    for made_once in (http._pool, tls_context):
        made_once.cache_clear()


def post(host: str, port: int, deadline: float = 5.0) -> Response:
    return http.request("POST", f"https://{host}:{port}/", body=b"{}", headers={}, deadline=deadline)


def test_the_name_goes_into_the_handshake_and_the_certificate_is_verified(authority: Authority) -> None:
    asked: list[str | None] = []
    context = authority.context("hooks.example")
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    with HTTPReceiver(tls=context) as receiver:
        assert post("hooks.example", receiver.port).status == 200
        assert post("hooks.example", receiver.port).status == 200
        assert receiver.connections == 1
    assert asked == ["hooks.example"]


def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    with HTTPReceiver(tls=authority.context("hooks.example")) as receiver:
        with pytest.raises(NotSent, match="certificate is not valid: Hostname mismatch"):
            post("other.example", receiver.port)
        assert receiver.requests == []


def test_an_expired_certificate_is_refused(authority: Authority) -> None:
    with (
        HTTPReceiver(tls=authority.context("old.example", days=-1)) as receiver,
        pytest.raises(NotSent, match="certificate has expired"),
    ):
        post("old.example", receiver.port)


def test_an_operators_own_authority_is_trusted_too(authority: Authority, tmp_path: Path, settings: Settings) -> None:
    at_home = Authority(tmp_path)
    settings.EXTRA_CA_FILE = str(at_home.bundle)
    for signed_by in (authority, at_home):
        with HTTPReceiver(tls=signed_by.context("hooks.example")) as receiver:
            assert post("hooks.example", receiver.port).status == 200


def test_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    with (
        HTTPReceiver(tls=Authority(tmp_path).context("hooks.example")) as receiver,
        pytest.raises(NotSent, match="certificate is not valid"),
    ):
        post("hooks.example", receiver.port)


def test_the_policy_and_the_certificate_are_checked_behind_a_proxy(authority: Authority, settings: Settings) -> None:
    with HTTPReceiver(tls=authority.context("hooks.example")) as receiver, ProxyReceiver() as proxy:
        settings.EGRESS_PROXY = f"http://127.0.0.1:{proxy.port}"
        assert post("hooks.example", receiver.port).status == 200
        with pytest.raises(NotSent, match="Hostname mismatch"):
            post("other.example", receiver.port)
        assert [lines[0].split()[1] for lines in proxy.asked] == [f"127.0.0.1:{receiver.port}"] * 2


def test_a_server_without_tls_is_not_sent() -> None:
    with (
        raw_server(lambda client: client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port,
        pytest.raises(NotSent, match="secure connection to the receiver failed"),
    ):
        post("hooks.example", port)


def test_a_handshake_that_hangs_ends_at_the_deadline() -> None:
    def talk(client: socket.socket) -> None:
        while client.recv(65536):
            pass

    with raw_server(talk) as port:
        start = time.monotonic()
        with pytest.raises(NotSent, match="did not answer within"):
            post("twice.example", port, deadline=0.4)  # the first of two addresses gets half of the time
        assert 0.4 <= time.monotonic() - start < 0.4 + SLACK


FORMS = {
    "webhook": ("url", "https://{}/hook", {}),
    "ntfy": ("server", "https://{}", {"topic": "planted"}),
    "apprise": ("url", "gotifys://{}/Aplanted-token1", {}),
}


@pytest.mark.parametrize("kind", FORMS)
def test_an_invalid_certificate_is_an_error_at_the_field(authority: Authority, kind: str) -> None:
    field, address, others = FORMS[kind]
    errors = {}
    for host, days in (("good.example", 30), ("old.example", -1)):
        with HTTPReceiver(tls=authority.context(host, days)) as receiver:
            form = providers.get(kind).form({field: address.format(f"{host}:{receiver.port}"), **others})
            errors[host] = " ".join(form.errors.get(field, []))
            assert receiver.requests == []
    assert errors["good.example"] == ""
    assert "certificate is not valid: certificate has expired. Use " in errors["old.example"]


@contextmanager
def tls_mail_server(authority: Authority, way: str, name: str = "mail.example") -> Iterator[SMTPReceiver]:
    """A mail server at mail.example with a certificate for `name`."""
    settings = {"EMAIL_HOST": "mail.example", "EMAIL_USE_SSL": way == "tls", "EMAIL_USE_TLS": way == "starttls"}
    with SMTPReceiver(**{way: authority.context(name)}) as receiver, mail_server(receiver.port, **settings):
        yield receiver


@pytest.mark.parametrize("way", ["tls", "starttls"])
def test_mail_under_tls(authority: Authority, way: str) -> None:
    with tls_mail_server(authority, way) as receiver:
        assert providers.get("email").send(make_message(), ADA) == Delivered()
        assert len(receiver.mails) == 1
        receiver.replies["DATA"] = DROP
        assert isinstance(providers.get("email").send(make_message(), ADA), Ambiguous)
    with tls_mail_server(authority, way, "other.example") as receiver:
        answer = providers.get("email").send(make_message(), ADA)
        assert isinstance(answer, Retryable)
        assert answer.reason.code == DeliveryCode.CERTIFICATE
        assert receiver.mails == []


def offer_tls_and(say: bytes) -> Callable[[socket.socket], None]:
    def talk(client: socket.socket) -> None:
        client.sendall(b"220 hello\r\n")
        client.recv(1000)
        client.sendall(b"250-ehlo\r\n250 STARTTLS\r\n")
        client.recv(1000)
        client.sendall(say)
        if say.startswith(b"2"):
            stay_silent(client)

    return talk


@pytest.mark.parametrize(
    ("say", "code"),
    [
        (b"454 4.7.0 not now\r\n", DeliveryCode.SMTP_LATER),
        (b"220 go\r\n", DeliveryCode.TIMEOUT),
        # Bytes injected before the handshake are not read after it.
        (b"220 go\r\n250 in the clear\r\n", DeliveryCode.TIMEOUT),
        (b"", DeliveryCode.BROKEN),
    ],
)
def test_no_mail_is_sent_unencrypted_if_encryption_fails(
    say: bytes, code: DeliveryCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code == DeliveryCode.TIMEOUT:
        hurry(monkeypatch)
    with raw_server(offer_tls_and(say)) as port, mail_server(port, EMAIL_USE_TLS=True):
        answer = providers.get("email").send(make_message(), ADA)
    assert isinstance(answer, Retryable)
    assert answer.reason.code == code
