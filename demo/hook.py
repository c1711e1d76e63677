"""A webhook receiver that knows which of its posts it took, and whether they were right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from standardwebhooks import WebhookVerificationError

from demo.receivers import HTTPReceiver, Received, Reply


@dataclass
class Hook:
    """`secret` verifies what comes. A `broken` one answers 404 until it is mended."""

    label: str
    receiver: HTTPReceiver
    secret: str = ""
    broken: bool = False
    _until: int = field(default=0, init=False)  # posts that came before it was mended

    @property
    def refused(self) -> Sequence[Received]:
        return self.receiver.requests if self.broken else self.receiver.requests[: self._until]

    @property
    def taken(self) -> Sequence[Received]:
        return [] if self.broken else self.receiver.requests[self._until :]

    def mend(self) -> None:
        """Answer 200 from now on."""
        self.broken, self._until = False, len(self.receiver.requests)
        self.receiver.answer = Reply()

    def right(self, post: Received, key: UUID, subject: str) -> bool:
        """Signed with the channel's secret, under the delivery's key, saying what was to be said."""
        try:
            document = post.verified(self.secret)
        except WebhookVerificationError:
            return False
        said: bool = document["data"]["subject"] == subject
        return said and post.headers["webhook-id"] == str(key)
