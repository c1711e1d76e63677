"""The field probes an address and refuses one that every send would fail at."""

from __future__ import annotations

from queue import SimpleQueue

import pytest
from django import forms

from demo.receivers import HTTPReceiver
from notifications.net import address_field
from notifications.net.address_field import AddressField
from tests.network import DEADLINE, SLACK, closed_port, raw_server, took

FIELD = AddressField(required=False)


def test_a_right_address_is_probed_and_nothing_is_sent_to_it() -> None:
    received: SimpleQueue[bytes] = SimpleQueue()
    with raw_server(lambda client: received.put(client.recv(1))) as port:
        assert FIELD.clean(f" http://127.0.0.1:{port} ") == f"http://127.0.0.1:{port}/"
        assert received.get(timeout=5) == b""
    assert FIELD.clean("") == ""


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://inside.example/", "http://mixed.example/"])
def test_a_name_that_resolves_to_a_private_address_is_refused(url: str, names: dict[str, list[str]]) -> None:
    names["inside.example"] = ["10.0.0.1"]
    names["mixed.example"] = ["93.184.216.34,10.0.0.1"]
    with pytest.raises(forms.ValidationError, match="private network"):
        FIELD.clean(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:CLOSED/", "https://nowhere.example/", "http://93.184.216.34/"])
def test_an_address_that_does_not_answer_now_is_accepted(url: str) -> None:
    url = url.replace("CLOSED", str(closed_port()))
    assert FIELD.clean(url) == url


def test_a_silent_address_does_not_delay_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_field, "PROBE_SECONDS", DEADLINE)
    with HTTPReceiver() as receiver:  # it waits for a request, without a handshake
        url = f"https://127.0.0.1:{receiver.port}/"
        assert took(lambda: FIELD.clean(url)) < DEADLINE + SLACK
