"""The signed addresses in a message, at which whoever has got it acts without signing in.

Hexadecimal throughout, so that no service takes a part of one for markup.
"""

from __future__ import annotations

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
    """A kind of link, to one row each. `purpose` is the name of its URL too; a token is good for no other purpose."""

    purpose: str

    def token(self, row_id: UUID) -> str:
        """Return 32 digits of the id, then 64 of its signature."""
        return row_id.hex + urlsafe_b64decode(self._signer().signature(row_id.hex) + "=").hex()

    def read(self, token: str) -> UUID | None:
        """Return whose token it is; None where its signature is not ours."""
        if _TOKEN.fullmatch(token) is None:
            return None
        signature = urlsafe_b64encode(bytes.fromhex(token[32:])).decode().rstrip("=")
        try:
            return UUID(self._signer().unsign(f"{token[:32]}:{signature}"))
        except BadSignature:
            return None

    def address(self, row_id: UUID) -> str:
        """Return the whole address, fit for a message."""
        return f"{settings.BASE_URL}{reverse(f'notifications:{self.purpose}', args=[self.token(row_id)])}"

    def _signer(self) -> Signer:
        return Signer(salt=f"notifications.{self.purpose}")


ANSWER = SignedLink("answer")
"""Acknowledges or snoozes a notification."""

UNSUBSCRIBE = SignedLink("unsubscribe")
"""Ends what goes to a channel."""
