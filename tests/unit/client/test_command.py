"""What the command prints of a server's words."""

from __future__ import annotations

import argparse
import json

import pytest
from carillon_client import command

STEERS = "\x1b]0;owned\x07 \x9b31m \u202egnp.exe \u2066 \x00 \r\n ü 😀"


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_that_steers_a_terminal_is_printed(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    command._print(argparse.Namespace(json=as_json), {"title": STEERS}, [STEERS])
    command._say(ValueError(STEERS), 1)
    printed = capsys.readouterr()
    assert (printed.out + printed.err).replace("\n", "").isprintable()
    assert "\\u202e" in printed.out and "\\u009b" in printed.out and "ü 😀" in printed.out
    if as_json:
        assert json.loads(printed.out) == {"title": STEERS}
