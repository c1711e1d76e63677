"""A webhook receiver that knows which posts it accepted, and verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from standardwebhooks import WebhookVerificationError

from demo.receivers import HTTPReceiver, Received, Reply


@dataclass
class WebhookReceiver:
    """`secret` verifies posts. If `broken`, it answers 404 until `repair()`."""

    label: str
    receiver: HTTPReceiver
    secret: str = ""
    broken: bool = False
    _until: int = field(default=0, init=False)  # posts before the repair

    @property
    def refused(self) -> Sequence[Received]:
        return self.receiver.requests if self.broken else self.receiver.requests[: self._until]

    @property
    def taken(self) -> Sequence[Received]:
        return [] if self.broken else self.receiver.requests[self._until :]

    def repair(self) -> None:
        """Answer 200 from now on."""
        self.broken, self._until = False, len(self.receiver.requests)
        self.receiver.answer = Reply()

    def is_valid(self, post: Received, key: UUID, subject: str) -> bool:
        """Whether it has a valid signature, the key of the delivery and the subject."""
        try:
            document = post.verified(self.secret)
        except WebhookVerificationError:
            return False
        said: bool = document["data"]["subject"] == subject
        return said and post.headers["webhook-id"] == str(key)
