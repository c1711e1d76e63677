"""A channel's address is called before it is kept: what would be refused at every send is told at the field."""

from __future__ import annotations

from queue import SimpleQueue

import pytest
from django import forms

from demo.receivers import HTTPReceiver
from notifications.net import address_field
from notifications.net.address_field import AddressField
from tests.providers.making import DEADLINE, SLACK, closed_port, raw_server, took

FIELD = AddressField(required=False)


def test_a_right_address_is_called_and_nothing_is_said_to_it() -> None:
    heard: SimpleQueue[bytes] = SimpleQueue()
    with raw_server(lambda client: heard.put(client.recv(1))) as port:
        assert FIELD.clean(f" http://127.0.0.1:{port} ") == f"http://127.0.0.1:{port}/"
        assert heard.get(timeout=5) == b""
    assert FIELD.clean("") == ""


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://inside.example/", "http://mixed.example/"])
def test_a_name_that_leads_inside_is_refused(url: str, names: dict[str, list[str]]) -> None:
    names["inside.example"] = ["10.0.0.1"]
    names["mixed.example"] = ["93.184.216.34,10.0.0.1"]
    with pytest.raises(forms.ValidationError, match="private network, where Carillon does not post"):
        FIELD.clean(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:CLOSED/", "https://nowhere.example/", "http://93.184.216.34/"])
def test_one_that_only_does_not_answer_now_is_taken(url: str) -> None:
    url = url.replace("CLOSED", str(closed_port()))
    assert FIELD.clean(url) == url


def test_nobody_waits_long_for_a_silent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_field, "PATIENCE", DEADLINE)
    with HTTPReceiver() as receiver:  # which waits for a request, and shakes no hands
        url = f"https://127.0.0.1:{receiver.port}/"
        assert took(lambda: FIELD.clean(url)) < DEADLINE + SLACK
