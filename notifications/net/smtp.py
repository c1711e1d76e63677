"""Django's SMTP backend, held to one deadline, able to say how far a message got, and to go on with an open session."""

from __future__ import annotations

import atexit
import os
import smtplib
import socket
import ssl
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from notifications.net.deadline import dial, tls_context, under_way

IDLE_SECONDS = 60.0
"""How long a session waits for the next mail. Most servers give theirs up after five minutes."""

IDLE_SESSIONS = 8
"""How many a process keeps, one for each of its threads that send at once."""

MAILS_A_SESSION = 100
"""What most servers allow before they close one themselves."""


class _Session(smtplib.SMTP):
    """Knows whether the final dot is out and unanswered: from there on, the server may have taken the message."""

    in_doubt = False
    _invited = False

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply; a proper one settles the doubt."""
        code, text = super().getreply()
        self._invited = code == 354
        self.in_doubt = self.in_doubt and not 200 <= code < 600
        return code, text

    def send(self, s: Any) -> None:
        """Send. The dot is the last thing written, so a message that could not be written whole has none."""
        super().send(s)
        self.in_doubt = self._invited

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        if under_way():
            return dial(host, port)
        return super()._get_socket(host, port, timeout)  # type: ignore[misc, no-any-return]


class _TLSSession(smtplib.SMTP_SSL, _Session):
    """The same under TLS from the first byte; `_get_socket` of SMTP_SSL wraps that of _Session."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A session that is open and signed in. `since` is of the monotonic clock, `mails` how many it has carried."""

    server: tuple[object, ...]
    session: smtplib.SMTP
    since: float
    mails: int


class Backend(EmailBackend):
    """Outside an exchange (a password reset, say) it works like its parent.

    Within one, `close` leaves the session open for the next mail of this process, where the last one was taken.
    """

    _mails = 0
    _taken = False

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        """The class that Django makes its connection of."""
        return _TLSSession if self.use_ssl else _Session

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The context that all of Carillon uses, whose sockets know the deadline."""
        return tls_context()

    @property
    def in_doubt(self) -> bool:
        """Whether a message is out whose end the server has not confirmed."""
        return bool(getattr(self.connection, "in_doubt", False))

    def open(self) -> bool | None:
        """Open a session, or go on with one that is open and answers."""
        if self.connection is None and under_way():
            for idle in _take(self._server()):
                if _answers(idle):
                    self.connection, self._mails = idle.session, idle.mails
                    return True
        return super().open()

    def send_messages(self, email_messages: Any) -> int:
        """Send. A session that a server has refused something in is not used again."""
        self._taken = False
        sent = super().send_messages(email_messages)
        self._taken, self._mails = True, self._mails + sent
        return sent

    def close(self) -> None:
        """Keep the session for the next mail, or say good-bye."""
        if self.connection is None or not (self._taken and under_way() and self._mails < MAILS_A_SESSION):
            super().close()
            return
        _idle.append(_Idle(self._server(), self.connection, time.monotonic(), self._mails))
        self.connection, self._mails, self._taken = None, 0, False
        while len(_idle) > IDLE_SESSIONS:
            with suppress(IndexError):
                _idle.popleft().session.close()

    def _server(self) -> tuple[object, ...]:
        return self.host, self.port, self.username, self.password, self.use_tls, self.use_ssl


def _take(server: tuple[object, ...]) -> Iterator[_Idle]:
    """Yield the sessions with this server, newest first; each is the caller's from then on."""
    for idle in reversed(tuple(_idle)):
        if idle.server == server:
            try:
                _idle.remove(idle)
            except ValueError:
                continue  # another thread was quicker
            yield idle


def _answers(idle: _Idle) -> bool:
    if time.monotonic() - idle.since < IDLE_SECONDS:
        try:
            if idle.session.noop()[0] == 250:
                return True
        except OSError:
            pass
    idle.session.close()
    return False


def _forget() -> None:
    """Let go of all sessions, saying nothing in them: in a forked child they are the parent's too."""
    for idle in _idle:
        idle.session.close()
    _idle.clear()


_idle: deque[_Idle] = deque()
os.register_at_fork(after_in_child=_forget)
atexit.register(_forget)
