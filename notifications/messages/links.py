"""The signed links in messages, which work without signing in.

Tokens are hexadecimal, so that no service reads a part of one as markup.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.urls import reverse

_TOKEN = re.compile("[0-9a-f]{96}")


@dataclass(frozen=True, slots=True)
class SignedLink:
    """A kind of link to one row. A token is valid for one `purpose` only; `view` is the name of its URL."""

    purpose: str
    view: str

    def token(self, row_id: UUID) -> str:
        """Return the 32 digits of the id and the 64 of its signature."""
        return row_id.hex + urlsafe_b64decode(self._signer().signature(row_id.hex) + "=").hex()

    def read(self, token: str) -> UUID | None:
        """Return the row's id; None if the signature is wrong."""
        if _TOKEN.fullmatch(token) is None:
            return None
        signature = urlsafe_b64encode(bytes.fromhex(token[32:])).decode().rstrip("=")
        try:
            return UUID(self._signer().unsign(f"{token[:32]}:{signature}"))
        except BadSignature:
            return None

    def address(self, row_id: UUID) -> str:
        return f"{settings.BASE_URL}{reverse(self.view, args=[self.token(row_id)])}"

    def _signer(self) -> Signer:
        return Signer(salt=f"notifications.{self.purpose}")


ANSWER = SignedLink("answer", "notifications:answer")
"""Acknowledges or snoozes a notification."""

UNSUBSCRIBE = SignedLink("unsubscribe", "notifications:unsubscribe")
"""Stops the messages to a channel."""

LEAVE = SignedLink("leave", "events:leave")
"""Ends a subscription to a topic."""

SUBSCRIPTION = SignedLink("subscription", "watches:subscription")
"""Confirms or ends a subscription to a status page by mail."""

BOARD = SignedLink("board", "notifications:board-receive")
"""Writes on the board whose `link_id` it names."""

STOP = SignedLink("stop", "jobs:stop")
"""Stops the announcements of which a notification is one."""
