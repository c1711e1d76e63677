"""A mail server that records what it gets and replies as it is told."""

from __future__ import annotations

import asyncio
import email
import email.policy
import logging
import ssl
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult

logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd tells of every command

HANG = "HANG"
"""In place of a reply: none, until the receiver closes."""

DROP = "DROP"
"""In place of a reply: the connection is cut."""


@dataclass(frozen=True)
class Mail:
    """One mail. `at` is the aware UTC instant of its final dot; the standard library has parsed `content`."""

    at: datetime
    sender: str
    recipients: list[str]
    message: EmailMessage
    content: bytes


class SMTPReceiver:
    """Listens on a free port of 127.0.0.1, or on `port`, while its block runs.

    `replies` overrides the replies to MAIL, RCPT and DATA (the one after the final dot) with a line such as
    "451 Later", with HANG or with DROP. A mail is recorded once its final dot is in, whatever the reply.
    Nobody can sign in. With `tls` it speaks TLS from the first byte, with `starttls` it offers it.
    """

    def __init__(
        self, tls: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self._tls, self._starttls = tls, starttls
        self.mails: list[Mail] = []
        self._sessions: list[SMTP] = []
        self.replies: dict[str, str] = {}
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        """What EMAIL_URL would say."""
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections were opened."""
        return len(self._sessions)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def _run(self) -> None:
        server = self._loop.run_until_complete(
            self._loop.create_server(self._session, "127.0.0.1", self.port, ssl=self._tls)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        for session in self._sessions:  # clients keep theirs open for the next mail
            if isinstance(session.transport, asyncio.Transport):
                session.transport.abort()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))  # lets what was cancelled and aborted unwind
        self._loop.close()

    def _session(self) -> SMTP:
        session = SMTP(
            self,
            hostname="receiver.test",
            loop=self._loop,
            tls_context=self._starttls,
            authenticator=lambda *_: AuthResult(success=False, handled=False),
            auth_require_tls=False,
        )
        self._sessions.append(session)
        return session

    async def handle_MAIL(self, server: SMTP, _: Any, envelope: Any, address: str, options: list[str]) -> str:
        """Take the sender."""
        envelope.mail_from = address
        return await self._reply(server, "MAIL")

    async def handle_RCPT(self, server: SMTP, _: Any, envelope: Any, address: str, options: list[str]) -> str:
        """Take a recipient."""
        reply = await self._reply(server, "RCPT")
        if reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server: SMTP, _: Any, envelope: Any) -> str:
        """Record the mail, then reply."""
        content = envelope.content.replace(b"\r\n", b"\n")  # as a mail box keeps it
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.mails.append(Mail(datetime.now(UTC), envelope.mail_from, list(envelope.rcpt_tos), message, content))
        return await self._reply(server, "DATA")

    async def _reply(self, server: SMTP, command: str) -> str:
        reply = self.replies.get(command, "250 OK")
        if reply == HANG:
            await asyncio.sleep(3600)
        if reply == DROP:
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return reply
