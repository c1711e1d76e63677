"""The command `carillon`. Exit status: 0 done, 1 refused, 2 wrong usage, 3 the server does not answer."""

import argparse
import getpass
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from carillon_client import account, timing
from carillon_client.client import Client
from carillon_client.connection import CarillonError, Unreachable
from carillon_client.documents import Event, Schedule, ScheduleFields


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except ValueError as error:  # of what was typed
        parser.exit(2, f"carillon: {error}\n")
    except Unreachable as error:
        return _say(error, 3)
    except CarillonError as error:
        return _say(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # as of `carillon reminders | head`
        sys.stderr.close()
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="carillon", description="Reminders and messages of a Carillon server.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words)
        added.add_argument("--json", action="store_true", help="print the server's documents as JSON")
        added.set_defaults(run=run)
        return added

    login = command("login", _login, "Store the address and a token, which is asked for (or read from a pipe).")
    login.add_argument("url", help="such as https://carillon.example.org")

    remind = command("remind", _remind, "Make a reminder.")
    remind.add_argument("title", help="without --every, --cron and --once also when: “dentist tomorrow 9:00”")
    remind.add_argument("--body", default="")
    when = remind.add_mutually_exclusive_group()
    when.add_argument("--every", metavar="WHEN", help="“sunday 18:00”, “day 09:00”, “30 minutes”, “month 1 09:00”")
    when.add_argument("--cron", metavar="EXPRESSION", help="“0 9 * * mon-fri”")
    when.add_argument("--once", metavar="TIME", help="“2026-03-15 09:00”")
    remind.add_argument("--zone", help="such as Europe/Berlin; yours without it")
    remind.add_argument("--category", default="")
    _add_channels(remind)

    send = command("send", _send, "Send a message.")
    send.add_argument("title")
    send.add_argument("--body", default="")
    send.add_argument("--at", metavar="TIME", help="with an offset, “2026-03-15T09:00+01:00”; now without it")
    _add_channels(send)

    command("reminders", _reminders, "List the reminders, newest first.").add_argument("--search", metavar="TEXT")

    publish = command("publish", _publish, "Publish an event, for which your rules ring.")
    publish.add_argument("type", help="such as order.paid")
    publish.add_argument("--data", metavar="JSON", default="{}", help="an object: '{\"order_id\": 7}'")
    publish.add_argument("--source", default="", help="what it comes from")
    publish.add_argument("--id", help="a UUID: the same id again is the same event")

    events = command("events", _events, "List the latest events and what followed from each, newest first.")
    events.add_argument("--type", help="only those of this type")
    events.add_argument("--limit", type=int, default=50, metavar="N", help="how many (50)")

    trace = command("trace", _trace, "Show a chain: events, deliveries and tries, with seconds since the first.")
    trace.add_argument("correlation_id", metavar="ID", help="correlation id, by default the id of the first event")

    command("batches", _batches, "List what you have told many people, newest first.")
    command("rules", _rules, "List the rules, newest first.")

    letters = command("dead-letters", _dead_letters, "List what was not delivered.")
    letters.add_argument("--cause", help="only those of this cause")
    letters.add_argument("--replay", action="store_true", help="send them again, oldest first")
    letters.add_argument("--per-minute", type=int, default=60, metavar="N", help="with --replay: how fast (60)")

    pull = command("pull", _pull, "Print the messages of a queue, a line of JSON each, and acknowledge them.")
    pull.add_argument("queue", help="label or id of the channel")
    pull.add_argument("--batch", type=int, default=10, metavar="N", help="how many to take at a time (10)")
    pull.add_argument("--follow", action="store_true", help="wait for more, until you press Ctrl-C")
    return parser


def _add_channels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", action="append", metavar="LABEL", help="label or id, also several times; your inbox without it"
    )
    parser.add_argument("--urgent", action="store_true", help="also during your quiet hours")
    parser.add_argument("--key", help="Idempotency-Key: the same command with the same key has one effect")


def _login(options: argparse.Namespace) -> None:
    if not options.url.startswith(("https://", "http://")):
        raise ValueError(f"“{options.url}” is not an address. Write it with https://, as https://carillon.example.org.")
    token = getpass.getpass("Token (from the settings page): ") if sys.stdin.isatty() else sys.stdin.readline()
    with Client(options.url, token.strip()) as client:
        me = client.me()
    there = account.write(options.url, token.strip())
    _print(
        options, me, [f"Signed in as {me['email']}; the token may: {', '.join(me['token']['scopes'])}. Kept in {there}"]
    )


def _remind(options: argparse.Namespace) -> None:
    fields: ScheduleFields = {"body": options.body, "category": options.category, "urgent": options.urgent}
    if (when := _timing(options)) is not None:
        fields |= {"title": options.title, "timing": when}
        if options.zone:
            fields["time_zone"] = options.zone
    with _client() as client:
        fields["channel_ids"] = _channels(client, options.channel)
        if when is None:
            fields |= _read_line(client, options)
        made = client.schedules.create(key=options.key, **fields)
    _print(options, made, [_line(made)])


def _read_line(client: Client, options: argparse.Namespace) -> ScheduleFields:
    found = client.schedules.quick_add(options.title, options.zone)
    return {
        "title": found["title"],
        "body": options.body or found["body"],
        "timing": found["timing"],
        "time_zone": found["time_zone"],
        "starts_at": found["starts_at"],
        "ends_at": found["ends_at"],
        "max_count": found["max_count"],
    }


def _timing(options: argparse.Namespace) -> dict[str, Any] | None:
    """None if the title says it."""
    if options.every is not None:
        return timing.every(options.every)
    if options.once is not None:
        return timing.once(options.once)
    return None if options.cron is None else {"cron": {"expression": options.cron}}


def _reminders(options: argparse.Namespace) -> None:
    with _client() as client:
        found = list(client.schedules.list(search=options.search))
    _print(options, found, [_line(one) for one in found] or ["No reminders."])


def _send(options: argparse.Namespace) -> None:
    at = timing.instant(options.at) if options.at else None
    with _client() as client:
        channels = _channels(client, options.channel)
        sent = client.notifications.send(
            options.title, channels, body=options.body, send_at=at, urgent=options.urgent, key=options.key
        )
    _print(options, sent, [f"{sent['id']}  accepted; channels: {len(sent['delivery_ids'])}"])


def _publish(options: argparse.Namespace) -> None:
    try:
        data = json.loads(options.data)
    except ValueError as error:
        raise ValueError(f"--data is not JSON: {error}") from None
    event = {"type": options.type, "data": data, "source": options.source, "id": options.id}
    with _client() as client:
        [published] = client.events.publish(event)
    _print(options, {"id": published}, [f"{published}  published"])


def _events(options: argparse.Namespace) -> None:
    with _client() as client:
        found = list(islice(client.events.list(options.type), max(0, options.limit)))
    _print(options, found, [f"{one['id']}  {one['type']}: {_outcome(one)}" for one in found] or ["No events."])


def _outcome(event: Event) -> str:
    effects = [f"{one['rule_name']}: {one['reason']['text'] or one['outcome']}" for one in event["effects"]]
    return "; ".join([event["reason"]["text"] or event["state"], *effects])


def _trace(options: argparse.Namespace) -> None:
    with _client() as client:
        found = client.events.trace(options.correlation_id)
    lines = []
    for row in found["items"]:
        to = f" → {', '.join(row['consumers'])}" if row["consumers"] else ""
        why = f" ({row['reason']['text']})" if row["reason"]["text"] else ""
        lines.append(f"{row['seconds']:9.3f} s  {row['queue']}  {row['type']}{to}: {row['state']}{why}")
        lines += [
            f"{one['seconds']:9.3f} s    try {one['number']}: {one['outcome'] or 'under way'}" for one in row["tries"]
        ]
    _print(options, found, [*lines, "There are more."] if found["more"] else lines)


def _batches(options: argparse.Namespace) -> None:
    with _client() as client:
        found = list(client.batches.list())
    lines = [
        f"{one['id']}  {one['title']}: {one['state']}, {one['told']} of {one['size'] or 0} told, {one['percent']} %"
        for one in found
    ]
    _print(options, found, lines or ["No batches."])


def _rules(options: argparse.Namespace) -> None:
    with _client() as client:
        found = list(client.rules.list())
    lines = [f"{one['id']}  {one['name']}: {one['type_pattern']}; {'on' if one['enabled'] else 'off'}" for one in found]
    _print(options, found, lines or ["No rules."])


def _dead_letters(options: argparse.Namespace) -> None:
    with _client() as client:
        if options.replay:
            _replay(options, client)
            return
        found = list(client.dead_letters.list(cause=options.cause))
    lines = [f"{one['id']}  {one['channel_label']}: {one['reason']['text']} ({one['cause']})" for one in found]
    _print(options, found, lines or ["No dead letters."])


def _replay(options: argparse.Namespace, client: Client) -> None:
    causes = {one["cause"] for one in client.dead_letters.causes() if options.cause in (None, one["cause"])}
    done = {
        cause: client.dead_letters.replay_all(cause=cause, per_minute=options.per_minute) for cause in sorted(causes)
    }
    lines = [f"{cause}: sent again {one['replayed']}, too old {one['stale']}" for cause, one in done.items()]
    _print(options, done, lines or ["No dead letters."])


def _pull(options: argparse.Namespace) -> None:
    with _client() as client:
        [queue] = _channels(client, [options.queue])
        while True:
            messages = client.queues.pull(queue, batch_size=options.batch, wait=20.0 if options.follow else 0.0)
            for message in messages:
                print(_escaped(json.dumps(message, ensure_ascii=False)))
            sys.stdout.flush()  # what cannot be written is not acknowledged
            if messages:
                settled = client.queues.ack(queue, [message["lease_id"] for message in messages])
                for one in settled:
                    if one["detail"]:
                        print(_escaped(f"carillon: {one['lease_id']}: {one['detail']}"), file=sys.stderr)
            elif not options.follow:
                return


def _client() -> Client:
    return Client(*account.read())


def _channels(client: Client, wanted: Sequence[str] | None) -> list[str]:
    """The ids of the channels with these labels or ids. Raises ValueError for one that is not there."""
    there = list(client.channels.list())
    if wanted is None:
        found = [one["id"] for one in there if one["kind"] == "inbox"]
        if found:
            return found
        raise ValueError(f"You have no inbox: choose a --channel. {_labels(there)}")
    ids = []
    for name in wanted:
        found = [one["id"] for one in there if name == one["id"] or name.casefold() == one["label"].casefold()]
        if len(found) != 1:
            raise ValueError(f"{len(found) or 'No'} channels have the label “{name}”. {_labels(there)}")
        ids += found
    return ids


def _labels(channels: Sequence[Any]) -> str:
    return f"You have: {', '.join(one['label'] for one in channels)}." if channels else "You have no channels yet."


def _line(schedule: Schedule) -> str:
    if schedule["next_run_at"] is not None:
        state = f"next {_local(schedule['next_run_at'], schedule['time_zone'] or 'UTC')}"
    else:
        state = schedule["state"]
    return f"{schedule['id']}  {schedule['title']}: {schedule['description']}; {state}"


def _local(instant: str, zone: str) -> str:
    try:
        found = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        return instant
    return f"{datetime.fromisoformat(instant).astimezone(found):%a %Y-%m-%d %H:%M}"


def _print(options: argparse.Namespace, document: object, lines: Sequence[str]) -> None:
    """The document as JSON, or the lines, without what would steer a terminal."""
    if options.json:
        print(_escaped(json.dumps(document, ensure_ascii=False, indent=2), kept="\n"))
        return
    for line in lines:
        print(_escaped(line))


def _escaped(text: str, kept: str = "") -> str:
    """With escapes, as JSON has them, for what would steer a terminal or turn its text round."""
    return "".join(one if one.isprintable() or one in kept else json.dumps(one)[1:-1] for one in text)


def _say(error: Exception, status: int) -> int:
    print(_escaped(f"carillon: {error}"), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
