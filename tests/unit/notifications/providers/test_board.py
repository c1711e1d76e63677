from collections.abc import Iterator

from notifications import providers
from notifications.messages.message import Delivered, Destination
from tests.network import make_message

VALID: list[dict[str, str]] = [{}]
INVALID: list[tuple[dict[str, str], str]] = []


def worlds() -> Iterator[Destination]:
    yield Destination({})


def test_a_board_accepts_every_message() -> None:
    assert providers.get("board").send(make_message(), Destination({})) == Delivered()
