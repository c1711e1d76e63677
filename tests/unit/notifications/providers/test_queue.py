from collections.abc import Iterator

import pytest

from notifications import providers
from notifications.messages.message import Destination, Rejected
from notifications.providers.queue import Settings
from tests.network import make_message

VALID: list[dict[str, str]] = [{}, {"batch_size": "1", "concurrency": "1", "tries": "1", "batch_timeout": "60"}]
INVALID: list[tuple[dict[str, str], str]] = [
    ({"batch_size": "0"}, "batch_size"),
    ({"batch_size": "101"}, "batch_size"),
    ({"concurrency": "251"}, "concurrency"),
    ({"concurrency": "many"}, "concurrency"),
    ({"tries": "0"}, "tries"),
    ({"batch_timeout": "61"}, "batch_timeout"),
    ({"batch_timeout": "1.5"}, "batch_timeout"),
]


def worlds() -> Iterator[Destination]:
    yield Destination({})


def test_no_worker_sends_to_a_queue() -> None:
    assert isinstance(providers.get("queue").send(make_message(), Destination({})), Rejected)


def test_an_empty_field_stands_for_its_usual_value() -> None:
    queue = providers.get("queue")
    form = queue.form({"concurrency": "1"})
    assert form.is_valid()
    assert Settings.read(queue.destination(form.cleaned_data).address) == Settings(100, 1, 5, 0)


@pytest.mark.parametrize("damage", [None, "many", 0, 251, 1e300, [1], {}])
def test_a_damaged_setting_counts_as_the_usual_one(damage: object) -> None:
    assert Settings.read({"concurrency": damage}).concurrency == 250
