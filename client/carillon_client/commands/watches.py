"""Watches: make, list, read, pause, resume, delete and restore them, and read their pings."""

import argparse
from typing import Any
from uuid import UUID

from carillon_client import timing
from carillon_client.client import Client
from carillon_client.commands import channels
from carillon_client.commands.output import Declare, Run, add_limit, an_id, local, show, show_list
from carillon_client.documents import Ping, Watch, WatchFields

_SECONDS = {"minutes": 60, "hours": 3600, "days": 86_400}


def declare(command: Declare) -> None:
    add = command("add", _add, "Make a watch, and print the address to ping.")
    add.add_argument("name")
    when = add.add_mutually_exclusive_group(required=True)
    when.add_argument("--every", metavar="WHEN", help="“1 day” since the last ping; “day 02:00”, “sunday 18:00”")
    when.add_argument("--cron", metavar="EXPRESSION", help="“0 2 * * *”")
    add.add_argument("--zone", help="such as Europe/Berlin; yours without it")
    add.add_argument("--grace", metavar="TIME", default="1 hour", help="how much later a ping may come (1 hour)")
    add.add_argument("--slug", default="", help="for a second address, by your ping key and this word")
    add.add_argument("--longest-run", metavar="TIME", help="be told if a run takes longer")
    add.add_argument("--description", default="", help="what to do if it fails")
    add.add_argument("--tag", action="append", default=[], help="also several times")
    channels.add_options(add)

    listed = command("list", _list, "List the watches, newest first.")
    listed.add_argument("--state", choices=["new", "up", "down", "paused"])
    listed.add_argument("--tag", help="only those with this tag")
    add_limit(listed)

    def of_one(name: str, run: Run, words: str) -> argparse.ArgumentParser:
        one = command(name, run, words)
        one.add_argument("watch", help="its name or id")
        return one

    add_limit(of_one("pings", _pings, "List the last pings of a watch, newest first."))
    of_one("output", _output, "Print the output of a watch's last ping that has some.")
    of_one("pause", _pause, "Pause a watch: nothing is expected until `resume`.").add_argument(
        "--until-ping", action="store_true", help="only until its next ping"
    )
    of_one("resume", _resume, "Expect the next ping as if one had come now.")
    of_one("delete", _delete, "Delete a watch. `restore` undoes it.")
    restore = command("restore", _restore, "Restore a deleted watch.")
    restore.add_argument("id", type=an_id, help="as `delete` printed it")


def _add(carillon: Client, options: argparse.Namespace) -> None:
    when: dict[str, Any] = {"cron": {"expression": options.cron}} if options.cron else timing.every(options.every)
    fields: WatchFields = {
        "name": options.name,
        "description": options.description,
        "tags": options.tag,
        "grace": _seconds(options.grace),
        "slug": options.slug,
        "urgent": options.urgent,
    }
    if "interval" in when:
        fields["period"] = _seconds(options.every)
    else:
        fields["timing"] = when
    if options.zone:
        fields["time_zone"] = options.zone
    if options.longest_run:
        fields["longest_run"] = _seconds(options.longest_run)
    fields["channel_ids"] = channels.find(carillon, options.channel)
    made = carillon.watches.create(key=options.key, **fields)
    show(options, made, [_line(made), made["ping_url"]])


def _seconds(text: str) -> int:
    """Raises ValueError."""
    interval = timing.every(text).get("interval")
    if interval is None:
        raise ValueError(f"“{text}” is not a length of time. Write it as “10 minutes”, “1 hour” or “2 days”.")
    return int(interval["every"] * _SECONDS[interval["unit"]])


def _list(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.watches.list(state=options.state, tag=options.tag), _line, "No watches.")


def _pings(carillon: Client, options: argparse.Namespace) -> None:
    watch = _find(carillon, options.watch)
    pings = carillon.watches.pings(watch["id"])
    show_list(options, pings, lambda ping: _ping(ping, watch["time_zone"]), "No pings yet.")


def _output(carillon: Client, options: argparse.Namespace) -> None:
    pings = carillon.watches.pings(_find(carillon, options.watch)["id"])
    ping = next((one for one in pings if one["output"]), None)
    show(options, ping, ["No ping has output."] if ping is None else ping["output"].splitlines())


def _pause(carillon: Client, options: argparse.Namespace) -> None:
    changed = carillon.watches.pause(_find(carillon, options.watch)["id"], until_ping=options.until_ping)
    show(options, changed, [f"Paused: {_line(changed)}"])


def _resume(carillon: Client, options: argparse.Namespace) -> None:
    changed = carillon.watches.resume(_find(carillon, options.watch)["id"])
    show(options, changed, [f"Resumed: {_line(changed)}"])


def _delete(carillon: Client, options: argparse.Namespace) -> None:
    result = _find(carillon, options.watch)
    carillon.watches.delete(result["id"])
    show(options, result, [f"Deleted “{result['name']}”. To undo it: carillon watch restore {result['id']}"])


def _restore(carillon: Client, options: argparse.Namespace) -> None:
    done = carillon.watches.restore(options.id)
    show(options, done, [f"Restored: {_line(done)}"])


def _find(carillon: Client, name: str) -> Watch:
    """By its id or its name. Raises ValueError where there is not exactly one."""
    try:
        return carillon.watches.read(str(UUID(name)))
    except ValueError:
        result = [one for one in carillon.watches.list() if one["name"].casefold() == name.casefold()]
    if len(result) != 1:
        raise ValueError(
            f"{len(result) or 'No'} watches have the name “{name}”. `carillon watch list` shows their ids."
        )
    return result[0]


def _line(watch: Watch) -> str:
    due = watch["expected_at"]
    expected = f", next ping by {local(due, watch['time_zone'])}" if due else ""
    return f"{watch['id']}  {watch['name']}: {watch['expected']}; {watch['state']}{expected}"


def _ping(ping: Ping, zone: str) -> str:
    code = "" if ping["exit_code"] is None else f", exit code {ping['exit_code']}"
    length = "" if ping["seconds"] is None else f", {ping['seconds']:.1f} s"
    size = f", {ping['size']} bytes" if ping["size"] else ""
    return f"{ping['number']}  {local(ping['pinged_at'], zone)}  {ping['kind']}{code}{length}{size}"
