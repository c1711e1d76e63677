"""Which server gets which token."""

from __future__ import annotations

from pathlib import Path

import pytest
from carillon_client import account
from carillon_client.connection import CarillonError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("CARILLON_URL", "CARILLON_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    account.write("https://one.example.org", "stored")


@pytest.mark.parametrize("url", ["https://one.example.org", "https://one.example.org/"])
def test_the_stored_token_goes_to_its_own_server(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert account.read() == ("https://one.example.org", "stored")
    monkeypatch.setenv("CARILLON_URL", url)
    assert account.read() == (url, "stored")


def test_the_stored_token_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARILLON_URL", "https://two.example.org")
    with pytest.raises(CarillonError):
        account.read()
    monkeypatch.setenv("CARILLON_TOKEN", "of two")
    assert account.read() == ("https://two.example.org", "of two")
