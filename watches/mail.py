"""Pings by mail: an SMTP server that takes mails to the addresses of watches, and nothing else.

A mail is accepted once its ping is committed. While the database is away, its sender is told to try again.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email import message_from_string
from email.errors import MessageError
from email.header import decode_header, make_header
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from aiosmtpd.smtp import SMTP, Envelope, Session
from django.conf import settings
from django.db import connection

from common.parsing.budget import OverBudget
from common.parsing.pool import ParsingUnavailable, parsed
from jobs.reading import charset, mails
from watches import pings
from watches.models import Watch
from watches.pings import LARGEST_OUTPUT, NewPing

log = logging.getLogger(__name__)
logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd tells of every command, with the addresses

LARGEST_MAIL = 2_000_000  # bytes
_MOST_OPEN = 50  # connections; each keeps its mail in memory
_SECONDS = 60.0  # of silence, after which a connection is closed
_HEAD = 65_536  # bytes of a mail in which its subject is looked for
# Texts in which words are not as they are read: encoded, of HTML, or of a charset that switches.
_ENCODED = re.compile(r"^Content-(?:\S*Encoding:\s*[bq]|Type:\s*text/html)|\x1b[$(]", re.IGNORECASE | re.MULTILINE)

_UNKNOWN = "550 5.1.1 No watch has this address"
_AWAY = "451 4.3.0 The database does not answer. Try again"
_BUSY = "451 4.3.2 Too many mails are being read. Try again"
_ANSWERS = {
    pings.TAKEN: "250 2.0.0 OK",
    pings.TOO_MANY: "451 4.7.1 Too many pings of this watch in a minute. Try again",
    pings.BUSY: "451 4.3.0 This watch is being changed. Try again",
    pings.UNKNOWN: _UNKNOWN,
}


class Receiver:
    """The handler that aiosmtpd calls. The database is asked in one thread, as pings over HTTP do."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pings")

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, _: Any) -> str:
        if (token := _token(address)) is None:
            return _UNKNOWN
        if envelope.rcpt_tos:  # the answer to the mail is about one ping
            return "452 4.5.3 One watch a mail. Send it to the others again"
        answer: str = await self._ask(partial(_reply, token))
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        raw = envelope.original_content or b""
        token = _token(envelope.rcpt_tos[0])
        assert token is not None  # noqa: S101 - as it was taken
        try:  # beside the thread that asks the database: a mail may take seconds
            text = await asyncio.to_thread(_text, raw, token)
        except ParsingUnavailable:
            return _BUSY
        record = partial(_record, NewPing(token, "success", output=text, size=len(raw)))
        for _try in range(100):
            if (answer := await self._ask(record)) != _ANSWERS[pings.BUSY]:
                break
            await asyncio.sleep(0.05)  # beside that thread too: other watches do not wait
        return answer

    async def _ask(self, call: Callable[[], str]) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _or_away, call)


class _Connection(SMTP):
    """One of the open connections; a further one is closed at once, and its sender tries again."""

    open: ClassVar[set[Any]] = set()

    def connection_made(self, transport: Any) -> None:
        if len(self.open) >= _MOST_OPEN:
            transport.close()
            return
        self.open.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self in self.open:
            self.open.remove(self)
            super().connection_lost(error)


async def serve(host: str, port: int) -> None:
    """Until it is cancelled."""
    receiver = Receiver()

    def connect() -> SMTP:
        return _Connection(
            receiver, data_size_limit=LARGEST_MAIL, hostname=settings.PING_DOMAIN, ident="Carillon", timeout=_SECONDS
        )

    async with await asyncio.get_running_loop().create_server(connect, host, port) as server:
        await server.serve_forever()


def _token(address: str) -> UUID | None:
    local, _, domain = address.rpartition("@")
    if domain.lower() != settings.PING_DOMAIN.lower():
        return None
    try:
        return UUID(local)
    except ValueError:
        return None


def _reply(token: UUID) -> str:
    exists = Watch.objects.filter(token=token, deleted_at=None, user__is_active=True).exists()
    return "250 2.1.5 OK" if exists else _UNKNOWN


def _record(ping: NewPing) -> str:
    [outcome] = pings.record([ping])
    return _ANSWERS[outcome]


def _or_away(call: Callable[[], str]) -> str:
    for is_again in (False, True):
        try:
            return call()
        except Exception as error:
            connection.close()
            if is_again:
                log.error("A ping by mail is not taken: %s", type(error).__name__)
    return _AWAY


def _text(raw: bytes, token: UUID) -> str:
    """The subject in letters, the texts too if they are encoded, then the mail as it came, as far as it is stored.

    Raises ParsingUnavailable. `token`: for whom, so that others do not wait.
    """
    subject = message_from_string(charset.decode(raw[:_HEAD].partition(b"\r\n\r\n")[0], "")).get("Subject", "")
    try:
        subject = str(make_header(decode_header(subject)))
    except (MessageError, ValueError, LookupError):
        subject = str(subject)
    text = f"{subject}\n\n{_decoded(raw[:LARGEST_OUTPUT], token)}".encode(errors="replace") + raw
    return text[:LARGEST_OUTPUT].decode("utf-8", "replace").replace("\0", "")


def _decoded(raw: bytes, token: UUID) -> str:
    """In these, no words of a watch would be found. Raises ParsingUnavailable."""
    with suppress(UnicodeDecodeError):
        if _ENCODED.search(raw.decode()) is None:
            return ""
    with suppress(OverBudget):
        return f"{parsed(mails.texts, raw, person=token)}\n\n"
    return ""
