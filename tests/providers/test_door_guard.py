"""The door asks the guard, and connects to what the guard saw."""

import time

import pytest
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver
from notifications.net.address_policy import permitted
from notifications.net.deadline import RefusedAddress, dial
from notifications.net.http import NotSent
from tests.providers.making import DEADLINE, post

INSIDE = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 0 0.0.0.0
localhost LOCALHOST localhost. ::1 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::
169.254.169.254 0xa9fea9fe 2852039166 fe80::1%lo 100.100.100.200 10.0.0.1 192.168.0.1 inside.example mixed.example
"""


@pytest.mark.parametrize(
    "host",
    INSIDE.split(),
)
def test_no_way_of_writing_an_inside_address_is_dialled(
    host: str, receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = []
    names["inside.example"] = ["127.0.0.1"]
    names["mixed.example"] = ["93.184.216.34,127.0.0.1"]
    url = f"http://[{host}]:{receiver.port}/" if ":" in host else f"http://{host}:{receiver.port}/"
    with pytest.raises(NotSent) as failure:
        post(url, DEADLINE)
    assert failure.value.refused
    # The same beneath the check of the address's form, where a resolver reads what a form did not.
    with pytest.raises((RefusedAddress, OSError)):
        dial(host, receiver.port, lambda address: permitted(address, []))
    time.sleep(0.01)
    assert receiver.requests == []


def test_a_closed_port_is_not_dialled(names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    with pytest.raises(NotSent) as failure:
        post("http://hooks.example:6379/")
    assert failure.value.refused


def test_a_name_is_looked_up_once_and_what_was_checked_is_what_is_dialled(
    receiver: HTTPReceiver, names: dict[str, list[str]], settings: Settings
) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.2/32"]
    names["rebinding.example"] = ["127.0.0.2", "127.0.0.1"]
    with pytest.raises(NotSent, match="refused the connection"):
        post(f"http://rebinding.example:{receiver.port}/")
    assert names["rebinding.example"] == ["127.0.0.1"], "one look-up took one answer"
    with pytest.raises(NotSent, match="private network") as failure:
        post(f"http://rebinding.example:{receiver.port}/")
    assert failure.value.refused
    assert receiver.requests == []


def test_a_dead_address_leaves_time_for_the_next(receiver: HTTPReceiver, names: dict[str, list[str]]) -> None:
    names["two.example"] = ["127.0.0.9,127.0.0.1"]
    assert post(f"http://two.example:{receiver.port}/").status == 200
    assert receiver.requests[0].headers["Host"] == f"two.example:{receiver.port}"
