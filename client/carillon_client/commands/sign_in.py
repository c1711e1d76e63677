"""Sign in to a server, and out."""

import argparse
import getpass
import sys
from collections.abc import Callable

from carillon_client import account
from carillon_client.client import Client
from carillon_client.commands.output import show


def declare(command: Callable[[str, Callable[[argparse.Namespace], None], str], argparse.ArgumentParser]) -> None:
    login = command("login", _login, "Store the address and a token, which is asked for (or read from a pipe).")
    login.add_argument("url", help="such as https://carillon.example.org")
    command("logout", _logout, "Forget the stored token. Revoke it in the settings.")


def _login(options: argparse.Namespace) -> None:
    if not options.url.startswith(("https://", "http://")):
        raise ValueError(f"“{options.url}” is not an address. Write it with https://, as https://carillon.example.org.")
    token = getpass.getpass("Token (from the settings page): ") if sys.stdin.isatty() else sys.stdin.readline()
    with Client(options.url, token.strip()) as client:
        me = client.me()
    path = account.write(options.url, token.strip())
    scopes = ", ".join(me["token"]["scopes"])
    show(options, me, [f"Signed in as {me['email']}; the token may: {scopes}. Stored in {path}"])


def _logout(options: argparse.Namespace) -> None:
    was_there = account.forget()
    show(options, {"signed_out": was_there}, ["Signed out." if was_there else "You were not signed in."])
