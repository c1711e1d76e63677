"""What the command prints of a server's words, and what it says without a server."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest
from carillon_client import Client, __version__, command
from carillon_client.commands import output

STEERS = "\x1b]0;owned\x07 \x9b31m \u202egnp.exe \u2066 \x00 \r\n ü 😀"
CHECKOUT = Path(__file__).parents[3]


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_that_steers_a_terminal_is_printed(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    output.show(argparse.Namespace(json=as_json), {"title": STEERS}, [STEERS])
    command._say(ValueError(STEERS), 1)
    printed = capsys.readouterr()
    assert (printed.out + printed.err).replace("\n", "").isprintable()
    assert "\\u202e" in printed.out and "\\u009b" in printed.out and "ü 😀" in printed.out
    if as_json:
        assert json.loads(printed.out) == {"title": STEERS}


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"carillon {__version__}\n")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("carillon de", "delete dead-letters"), ("carillon add --e", "--every"), ("carillon --v", "--version")],
)
def test_bash_completes_commands_and_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, typed: str, offered: str
) -> None:
    assert command.main(["completion", "bash"]) == 0
    (tmp_path / "completion").write_text(capsys.readouterr().out)
    words = typed.split()
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; . ./completion; _carillon; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered.split()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_each_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert command.main(["completion", shell]) == 0
    written = capsys.readouterr().out
    assert all(name in written for name in ("dead-letters", "every", "restore"))


def test_each_command_of_the_documentation_can_be_typed() -> None:
    lines = re.findall(r"^\$ carillon ([^|>\n]+)", (CHECKOUT / "docs/api.md").read_text(), re.M)
    assert len(lines) > 20
    for line in lines:
        assert command._parser().parse_args(shlex.split(line)).run


def test_the_client_for_asyncio_has_each_method_of_the_other_one() -> None:
    names: dict[str, object] = {}
    exec(runpy.run_path(str(CHECKOUT / "client/setup.py"))["text"](), names)  # noqa: S102
    waiting, other = names["AsyncClient"]("http://127.0.0.1:9", "token"), Client("http://127.0.0.1:9", "token")
    resources = [name for name in vars(other) if name != "connection"]
    assert len(resources) > 20
    for name in resources:
        one, of = getattr(waiting, name), getattr(other, name)
        methods = [method for method in dir(of) if not method.startswith("_")]
        assert [method for method in dir(one) if not method.startswith("_")] == methods
        for method in methods:
            made = inspect.unwrap(getattr(one, method))
            iterates = not inspect.isgeneratorfunction(made) and "Iterator" in str(inspect.signature(made))
            assert inspect.iscoroutinefunction(made) or inspect.isasyncgenfunction(made) or iterates, (name, method)
    assert inspect.iscoroutinefunction(waiting.me) and inspect.iscoroutinefunction(waiting.close)
