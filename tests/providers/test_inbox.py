from collections.abc import Iterator

from notifications import providers
from notifications.message import Delivered, Destination, Message
from tests.providers.making import make_message

VALID: list[dict[str, str]] = [{}]
INVALID: list[tuple[dict[str, str], str]] = []


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    yield providers.get("inbox").destination({})


def keys_sent(message: Message) -> list[str]:
    """For the contract: what two tries carry outside. The delivery's own row is the inbox's message."""
    return [str(message.key)] * 2


def test_the_inbox_always_takes_a_message() -> None:
    inbox = providers.get("inbox")
    assert inbox.send(make_message(), inbox.destination({})) == Delivered()
