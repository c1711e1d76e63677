"""The interface of a kind of connection: its form, and how it is checked."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from common.texts.types import StrOrPromise
from jobs.reading.fetch import Fetch, Later, Refused
from notifications.messages.message import Destination
from notifications.providers.base import HasForm


class ConnectionKind(HasForm):
    """It has no state: one object serves every connection, from any thread.

    `Source.address` and `Source.secrets` of a job are those of `destination`, and the address what `check` made of it.
    """

    name: ClassVar[str]
    """Stored with each connection; kinds of job name it."""

    label: ClassVar[StrOrPromise]
    """Its name for people; its icon has the id `name`."""

    position: ClassVar[int] = 100
    """Its position in lists, lowest first."""

    about: ClassVar[StrOrPromise]
    """One line at its form."""

    deadline: ClassVar[float] = 10.0
    """Seconds for one check: a person waits for it."""

    @abstractmethod
    def summary(self, address: Mapping[str, Any]) -> str:
        """Return one line that tells this connection from others in a list. Never raises; it holds no secret."""

    @abstractmethod
    def check(self, stored: Destination, fetch: Fetch) -> Mapping[str, Any] | Later | Refused:
        """Ask the source. Returns the address to store; what `fetch` raises may pass through."""
