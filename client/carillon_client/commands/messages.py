"""Messages and channels: send and cancel, batches, dead letters, and queues that are pulled."""

import argparse
import json
import sys

from carillon_client import timing
from carillon_client.client import Client
from carillon_client.commands import channels
from carillon_client.commands.output import Declare, add_limit, an_id, escaped, show, show_list
from carillon_client.connection import Problem
from carillon_client.documents import Batch


def declare(command: Declare) -> None:
    send = command("send", _send, "Send a message.")
    send.add_argument("title")
    send.add_argument("--body", default="")
    send.add_argument("--at", metavar="TIME", help="with an offset, “2026-03-15T09:00+01:00”; now without it")
    channels.add_options(send)

    cancel = command("cancel", _cancel, "Cancel what has not gone out of a message, or of a reminder that was run.")
    cancel.add_argument("id", type=an_id, help="as `send` or `run` printed it")

    add_limit(command("channels", _channels, "List the channels, newest first."))
    add_limit(command("batches", _batches, "List what you have told many people, newest first."))

    dead_letters = command("dead-letters", _dead_letters, "List what was not delivered.")
    dead_letters.add_argument("--cause", help="only those of this cause")
    dead_letters.add_argument("--replay", action="store_true", help="send them again, oldest first")
    dead_letters.add_argument("--per-minute", type=int, default=60, metavar="N", help="with --replay: how fast (60)")
    add_limit(dead_letters)

    pull = command("pull", _pull, "Print the messages of a queue, a line of JSON each, and acknowledge them.")
    pull.add_argument("queue", help="label or id of the channel")
    pull.add_argument("--batch", type=int, default=10, metavar="N", help="how many to take at a time (10)")
    pull.add_argument("--follow", action="store_true", help="wait for more, until you press Ctrl-C")


def _send(carillon: Client, options: argparse.Namespace) -> None:
    at = timing.instant(options.at) if options.at else None
    wanted = channels.find(carillon, options.channel)
    sent = carillon.notifications.send(
        options.title, wanted, body=options.body, send_at=at, urgent=options.urgent, key=options.key
    )
    show(options, sent, [f"{sent['id']}  accepted; channels: {len(sent['delivery_ids'])}"])


def _cancel(carillon: Client, options: argparse.Namespace) -> None:
    try:
        message = carillon.notifications.cancel(options.id)
        show(options, message, [f"{message['id']}  {message['outcome']}"])
    except Problem as problem:
        if problem.status != 404:
            raise
        batch = carillon.batches.cancel(options.id)
        show(options, batch, [f"{batch['id']}  cancelled; not sent: {batch['dropped']}"])


def _channels(carillon: Client, options: argparse.Namespace) -> None:
    line = "{id}  {label}: {kind}, {summary}; {state}".format_map
    show_list(options, carillon.channels.list(), line, "No channels.")


def _batches(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.batches.list(), _batch, "No batches.")


def _batch(batch: Batch) -> str:
    progress = f"{batch['told']} of {batch['size'] or 0} told, {batch['percent']} %"
    return f"{batch['id']}  {batch['title']}: {batch['state']}, {progress}"


def _dead_letters(carillon: Client, options: argparse.Namespace) -> None:
    if options.replay:
        _replay(carillon, options)
        return
    line = "{id}  {channel_label}: {reason[text]} ({cause})".format_map
    show_list(options, carillon.dead_letters.list(cause=options.cause), line, "No dead letters.")


def _replay(carillon: Client, options: argparse.Namespace) -> None:
    causes = {one["cause"] for one in carillon.dead_letters.causes() if options.cause in (None, one["cause"])}
    done = {
        cause: carillon.dead_letters.replay_all(cause=cause, per_minute=options.per_minute) for cause in sorted(causes)
    }
    lines = [f"{cause}: sent again {one['replayed']}, too old {one['stale']}" for cause, one in done.items()]
    show(options, done, lines or ["No dead letters."])


def _pull(carillon: Client, options: argparse.Namespace) -> None:
    [queue] = channels.find(carillon, [options.queue])
    while True:
        messages = carillon.queues.pull(queue, batch_size=options.batch, wait=20.0 if options.follow else 0.0)
        for message in messages:
            print(escaped(json.dumps(message, ensure_ascii=False)))
        sys.stdout.flush()  # what cannot be written is not acknowledged
        if messages:
            for one in carillon.queues.ack(queue, [message["lease_id"] for message in messages]):
                if one["detail"]:
                    print(escaped(f"carillon: {one['lease_id']}: {one['detail']}"), file=sys.stderr)
        elif not options.follow:
            return
