"""Reminders: make, list, pause, resume, delete and restore them; send one now, check one now, and say why."""

import argparse
import sys
import time
from typing import Any, cast
from uuid import UUID

from carillon_client import timing
from carillon_client.client import Client
from carillon_client.commands import channels
from carillon_client.commands.output import Declare, Run, add_limit, an_id, escaped, local, show, show_list
from carillon_client.connection import CarillonError, Problem
from carillon_client.documents import Schedule, ScheduleFields, Slot


def declare(command: Declare) -> None:
    add = command("add", _add, "Make a reminder.")
    add.add_argument("title", help="without --every, --cron and --once also when: “call Ada tomorrow 9am”")
    add.add_argument("--body", default="")
    when = add.add_mutually_exclusive_group()
    when.add_argument("--every", metavar="WHEN", help="“sunday 18:00”, “day 09:00”, “30 minutes”, “month 1 09:00”")
    when.add_argument("--cron", metavar="EXPRESSION", help="“0 9 * * mon-fri”")
    when.add_argument("--once", metavar="TIME", help="“2026-03-15 09:00”")
    add.add_argument("--zone", help="such as Europe/Berlin; yours without it")
    add.add_argument("--category", default="")
    channels.add_options(add)

    listed = command("list", _list, "List the reminders, newest first.")
    listed.add_argument("--search", metavar="TEXT", help="only those with this in their title or text")
    listed.add_argument("--state", choices=["active", "paused", "finished", "broken", "archived", "awaiting"])
    add_limit(listed)

    def of_one(name: str, run: Run, words: str) -> argparse.ArgumentParser:
        one = command(name, run, words)
        one.add_argument("reminder", help="its title or id")
        return one

    of_one("pause", _pause_or_resume, "Pause a reminder: nothing fires until `resume`.").set_defaults(done="Paused")
    of_one("resume", _pause_or_resume, "End a pause or a snooze.").set_defaults(done="Resumed")
    of_one("done", _done, "Say that a reminder is done: its newest message is answered.").add_argument(
        "--undo", action="store_true", help="it is open again"
    )
    of_one("delete", _delete, "Delete a reminder. `restore` undoes it.").add_argument(
        "--yes", action="store_true", help="without being asked"
    )
    command("restore", _restore, "Restore a deleted reminder.").add_argument(
        "id", type=an_id, help="as `delete` printed it"
    )
    of_one("run", _run, "Send a reminder once, now.")
    of_one("check", _check, "Say what a reminder's check finds now. Sends nothing; exit status 1 if it fails.")
    of_one("explain", _explain, "Say what comes, and why each slot fired or did not.")


def _add(carillon: Client, options: argparse.Namespace) -> None:
    fields: ScheduleFields = {"body": options.body, "category": options.category, "urgent": options.urgent}
    if (when := _timing(options)) is not None:
        fields |= {"title": options.title, "timing": when}
        if options.zone:
            fields["time_zone"] = options.zone
    fields["channel_ids"] = channels.find(carillon, options.channel)
    if when is None:
        fields |= _read_line(carillon, options)
    made = carillon.schedules.create(key=options.key, **fields)
    show(options, made, [_line(made)])


def _read_line(carillon: Client, options: argparse.Namespace) -> ScheduleFields:
    """Raises CarillonError with the question that a doubtful line leaves open."""
    try:
        result = carillon.schedules.quick_add(options.title, options.zone)
    except Problem as problem:
        if [field for field, _ in problem.errors] == ["text"]:
            raise CarillonError(problem.errors[0][1]) from None
        raise
    fields = {name: value for name, value in result.items() if name in ScheduleFields.__annotations__}
    return cast(ScheduleFields, fields | ({"body": options.body} if options.body else {}))


def _timing(options: argparse.Namespace) -> dict[str, Any] | None:
    """None if the title says it."""
    if options.every is not None:
        return timing.every(options.every)
    if options.once is not None:
        return timing.once(options.once)
    return None if options.cron is None else {"cron": {"expression": options.cron}}


def _list(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.schedules.list(search=options.search, state=options.state), _line, "No reminders.")


def _pause_or_resume(carillon: Client, options: argparse.Namespace) -> None:
    change = carillon.schedules.pause if options.done == "Paused" else carillon.schedules.resume
    changed = change(_find(carillon, options.reminder)["id"])
    show(options, changed, [f"{options.done}: {_line(changed)}"])


def _done(carillon: Client, options: argparse.Namespace) -> None:
    change = carillon.schedules.undo_done if options.undo else carillon.schedules.done
    changed = change(_find(carillon, options.reminder)["id"])
    show(options, changed, [f"{'Open again' if options.undo else 'Done'}: {_line(changed)}"])


def _delete(carillon: Client, options: argparse.Namespace) -> None:
    result = _find(carillon, options.reminder)
    if not options.yes:
        if not sys.stdin.isatty():
            raise ValueError("Add --yes to delete it without being asked.")
        print(escaped(f"Delete “{result['title']}”? [y/N] "), end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CarillonError("Nothing was deleted.")
    carillon.schedules.delete(result["id"])
    show(options, result, [f"Deleted “{result['title']}”. To undo it: carillon restore {result['id']}"])


def _restore(carillon: Client, options: argparse.Namespace) -> None:
    done = carillon.schedules.restore(options.id)
    show(options, done, [f"Restored: {_line(done)}"])


def _run(carillon: Client, options: argparse.Namespace) -> None:
    done = carillon.schedules.run(_find(carillon, options.reminder)["id"])
    reason = f": {done['reason']['text']}" if done["reason"]["text"] else ""
    show(options, done, [f"{done['batch_id']}  {done['outcome']}{reason}"])


def _check(carillon: Client, options: argparse.Namespace) -> None:
    result = carillon.schedules.check(_find(carillon, options.reminder)["id"])
    while result["outcome"] == "checking":
        time.sleep(1.0)
        result = carillon.schedules.read_check(result["id"])
    says = [text for text in (result["title"], result["body"]) if text]
    show(options, result, [f"{result['outcome']}: {result['reason']['text']}", *says])
    if result["outcome"] == "failed":
        raise CarillonError("The check failed.")


def _explain(carillon: Client, options: argparse.Namespace) -> None:
    schedule = _find(carillon, options.reminder)
    explained = carillon.schedules.explanation(schedule["id"])
    slots = [*reversed(explained["coming"]), *explained["items"]]
    show(options, explained, [_slot(one, schedule) for one in slots] or ["Nothing comes, and nothing has fired yet."])


def _slot(slot: Slot, schedule: Schedule) -> str:
    causes = [cause["text"] for cause in slot["causes"]]
    check = slot["check"]["reason"]["text"] if slot["check"] else ""
    why = " ".join(filter(None, [*causes, check, slot["note"]]))
    return f"{local(slot['slot_at'], schedule['time_zone'])}  {slot['outcome']}{': ' if why else ''}{why}"


def _find(carillon: Client, name: str) -> Schedule:
    """By its id or its title. Raises ValueError where there is not exactly one."""
    try:
        return carillon.schedules.read(str(UUID(name)))
    except ValueError:
        result = [one for one in carillon.schedules.list(search=name) if one["title"].casefold() == name.casefold()]
    if len(result) > 1:
        raise ValueError(f"{len(result)} reminders are called “{name}”. Use an id of `carillon list`.")
    if not result:
        raise ValueError(f"No reminder is called “{name}”. `carillon list` shows their titles and ids.")
    return result[0]


def _line(schedule: Schedule) -> str:
    if schedule["next_run_at"] is not None:
        state = f"next {local(schedule['next_run_at'], schedule['time_zone'])}"
    else:
        state = schedule["state"]
    return f"{schedule['id']}  {schedule['title']}: {schedule['description']}; {state}"
