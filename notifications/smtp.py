"""Django's SMTP backend, held to one deadline and able to say how far a message got."""

from __future__ import annotations

import smtplib
import socket
import ssl
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from notifications.exchange import dial, tls_context, under_way


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


class Backend(EmailBackend):
    """Outside an exchange (a password reset, say) it works like its parent."""

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
