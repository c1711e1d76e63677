"""The command `carillon`. Exit status: 0 done, 1 refused, 2 wrong usage, 3 the server does not answer."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from carillon_client import __version__, account
from carillon_client.client import Client
from carillon_client.commands import completion, counters, events, locks, messages, reminders, sign_in, watches
from carillon_client.commands.output import Run, escaped
from carillon_client.connection import CarillonError, Unreachable


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except ValueError as error:  # of what was typed
        return _say(error, 2)
    except Unreachable as error:
        return _say(error, 3)
    except CarillonError as error:
        return _say(error, 1)
    except (LookupError, TypeError) as error:  # of a document
        return _say(f"The server's answer is not what this version of carillon reads ({error!r}).", 1)
    except (KeyboardInterrupt, EOFError):
        return 130
    except BrokenPipeError:  # as of `carillon list | head`
        sys.stderr.close()
        return 0
    except OSError as error:
        return _say(error, 1)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="carillon", description="Reminders and messages of a Carillon server.")
    parser.add_argument("--version", action="version", version=f"carillon {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sign_in.declare(partial(_add, commands))
    for group in (reminders, messages, events, locks, counters):
        group.declare(partial(_add_signed_in, commands))
    words = "Be told if something did not happen: watches, and their pings."
    of_watches = commands.add_parser("watch", help=words, description=words)
    watches.declare(partial(_add_signed_in, of_watches.add_subparsers(required=True, metavar="COMMAND")))
    shells = commands.add_parser("completion", help="Print the script that completes commands in your shell.")
    shells.add_argument("shell", choices=completion.SHELLS)
    shells.set_defaults(run=lambda options: print(completion.script(parser, options.shell), end=""))
    return parser


def _add(commands: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(name, help=words, description=words)
    added.add_argument("--json", action="store_true", help="print the server's documents as JSON")
    added.set_defaults(run=run)
    return added


def _add_signed_in(commands: Any, name: str, run: Run, words: str) -> argparse.ArgumentParser:
    def run_signed_in(options: argparse.Namespace) -> None:
        with Client(*account.read()) as carillon:
            run(carillon, options)

    return _add(commands, name, run_signed_in, words)


def _say(error: object, status: int) -> int:
    print(escaped(f"carillon: {error}"), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
