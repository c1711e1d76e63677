"""Channels by their labels."""

import argparse
from collections.abc import Sequence
from typing import Any

from carillon_client.client import Client


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", action="append", metavar="LABEL", help="label or id, also several times; your inbox without it"
    )
    parser.add_argument("--urgent", action="store_true", help="also during your quiet hours")
    parser.add_argument("--key", help="Idempotency-Key: the same command with the same key has one effect")


def find(client: Client, wanted: Sequence[str] | None) -> list[str]:
    """The ids of the channels with these labels or ids. Raises ValueError for one that is not there."""
    existing = list(client.channels.list())
    if wanted is None:
        result = [one["id"] for one in existing if one["kind"] == "inbox"]
        if result:
            return result
        raise ValueError(f"You have no inbox: choose a --channel. {_labels(existing)}")
    ids = []
    for name in wanted:
        result = [one["id"] for one in existing if name.casefold() in (one["id"], one["label"].casefold())]
        if len(result) != 1:
            raise ValueError(f"{len(result) or 'No'} channels have the label “{name}”. {_labels(existing)}")
        ids += result
    return ids


def _labels(channels: Sequence[Any]) -> str:
    return f"You have: {', '.join(one['label'] for one in channels)}." if channels else "You have no channels yet."
