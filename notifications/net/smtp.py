"""Django's SMTP backend with one deadline. It knows how far a message got, and reuses open sessions."""

import atexit
import os
import smtplib
import socket
import ssl
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from notifications.net.deadline import connect, has_deadline, tls_context

IDLE_SECONDS = 60.0
"""Seconds that a session waits for the next mail. Most servers close an idle one after five minutes."""

IDLE_SESSIONS = 8
"""Sessions that a process keeps, at most: one for each thread that sends at the same time."""

MAILS_PER_SESSION = 100
"""Most servers close a session after about this many."""


class _Session(smtplib.SMTP):
    """Knows whether it has sent the final dot without an answer: the server may then have accepted the message."""

    in_doubt = False
    _may_send_data = False

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply; a valid one ends the doubt."""
        code, text = super().getreply()
        self._may_send_data = code == 354
        self.in_doubt = self.in_doubt and not 200 <= code < 600
        return code, text

    def send(self, s: Any) -> None:
        """Send. The dot comes last, so the server ignores a message that was not sent whole."""
        super().send(s)
        self.in_doubt = self._may_send_data

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        if has_deadline():
            return connect(host, port)
        return super()._get_socket(host, port, timeout)  # type: ignore[misc]


class _TLSSession(smtplib.SMTP_SSL, _Session):
    """The same, under TLS from the start: `_get_socket` of SMTP_SSL wraps the one of _Session."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """An open, signed-in session. `since` is on the monotonic clock; `mails` counts what it has sent."""

    server: tuple[object, ...]
    session: smtplib.SMTP
    since: float
    mails: int


class Backend(EmailBackend):
    """Outside a deadline (a password reset, for example) it works like its parent.

    Inside one, `close` keeps the session for this process's next mail if the server accepted the last one.
    """

    _mails = 0
    _accepted = False

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _TLSSession if self.use_ssl else _Session

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The context whose sockets know the deadline."""
        return tls_context()

    @property
    def in_doubt(self) -> bool:
        """Whether a message was sent and the server has not confirmed it."""
        return bool(getattr(self.connection, "in_doubt", False))

    def open(self) -> bool | None:
        while self.connection is None and has_deadline():
            try:
                idle = _idle.pop()  # the newest, which is this thread's then
            except IndexError:
                break
            if idle.server == self._server() and _answers(idle):
                self.connection, self._mails = idle.session, idle.mails
                return True
            idle.session.close()
        return super().open()

    def send_messages(self, email_messages: Any) -> int:
        """Send. A session in which the server refused something is not reused."""
        self._accepted = False
        sent = super().send_messages(email_messages)
        self._accepted, self._mails = True, self._mails + sent
        return sent

    def close(self) -> None:
        if self.connection is None or not (self._accepted and has_deadline() and self._mails < MAILS_PER_SESSION):
            super().close()
            return
        _idle.append(_Idle(self._server(), self.connection, time.monotonic(), self._mails))
        self.connection, self._mails, self._accepted = None, 0, False
        while len(_idle) > IDLE_SESSIONS:
            with suppress(IndexError):
                _idle.popleft().session.close()

    def _server(self) -> tuple[object, ...]:
        return self.host, self.port, self.username, self.password, self.use_tls, self.use_ssl


def _answers(idle: _Idle) -> bool:
    with suppress(OSError):
        return time.monotonic() - idle.since < IDLE_SECONDS and idle.session.noop()[0] == 250
    return False


def _drop_all() -> None:
    """Close all sessions without QUIT: in a forked child they are the parent's too."""
    for idle in _idle:
        idle.session.close()
    _idle.clear()


_idle: deque[_Idle] = deque()
os.register_at_fork(after_in_child=_drop_all)
atexit.register(_drop_all)
