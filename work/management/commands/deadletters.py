"""`manage.py deadletters list | replay | discard`: what operators do in the admin, for scripts and for many."""

import getpass
import re
import sys
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from work import dead_letters
from work.dead_letters import Act, Done, Which, Who
from work.kinds import KINDS

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_MOST_SHOWN = 50


def _length(text: str) -> timedelta:
    if not (match := re.fullmatch(r"(\d{1,5})([mhd])", text)):
        raise ArgumentTypeError(f"“{text}” is not a length of time; write 30m, 24h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _instant(text: str) -> datetime:
    if re.fullmatch(r"\d+[mhd]", text):
        return timezone.now() - _length(text)
    try:
        instant = parse_datetime(text if len(text) > 10 else f"{text} 00:00")
    except ValueError:
        instant = None
    if instant is None:
        raise ArgumentTypeError(f"“{text}” is not an instant; write 24h, 2026-06-01 or 2026-06-01T12:00Z")
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _rate(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise ArgumentTypeError(f"“{text}” is not a rate; write the letters a minute, from 1 to 100000")
    return int(text)


class Command(BaseCommand):
    requires_system_checks = ()
    help = (
        "See, replay or discard work that ended without success. Without a filter, all of it is meant. "
        "Exit code 0: done; 1: nothing was done, with the reason; 2: wrong usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        seen = verbs.add_parser("list", help="their causes; with --cause or --id, the letters themselves")
        again = verbs.add_parser("replay", help="replay them, with the same idempotency keys, oldest first")
        gone = verbs.add_parser("discard", help="discard them, and say why")
        for verb in (seen, again, gone):
            verb.add_argument("--kind", choices=sorted(KINDS), help="of this kind of work")
            verb.add_argument("--handler", "--provider", default="", help="of this provider, such as webhook")
            verb.add_argument("--cause", default="", help="of this cause, as list shows it")
            verb.add_argument(
                "--since", type=_instant, help="ended since 24h, 7d, 2026-06-01 or 2026-06-01T12:00Z (UTC)"
            )
            verb.add_argument("--id", type=UUID, action="append", default=[], help="with this key; may be repeated")
        for verb in (again, gone):
            verb.add_argument("--yes", action="store_true", help="do not ask")
        again.add_argument("--rate", type=_rate, metavar="N", help="at most so many a minute; all at once without it")
        again.add_argument("--max-age", type=_length, metavar="AGE", help="skip what was recorded longer ago, say 2d")
        gone.add_argument("--reason", required=True, help="kept with each of them, and shown to its owner")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        chosen = [
            Which(KINDS[name], options["handler"], options["cause"], options["since"], options["id"])
            for name in sorted(KINDS)
            if options["kind"] in (None, name)
        ]
        {"list": self._list, "replay": self._replay, "discard": self._discard}[verb](chosen, options)

    def _list(self, chosen: list[Which], _options: dict[str, Any]) -> None:
        if chosen[0].cause or chosen[0].ids:
            self._list_letters(chosen)
            return
        groups = [group for which in chosen for group in dead_letters.groups(which)]
        width = max((len(group.cause) for group in groups), default=0)
        for group in groups:
            self.stdout.write(
                f"{group.cause:{width}}  {group.count:>8,}  {_shown(group.first)} – {_shown(group.last)}"
                f"  {group.handler}, {group.example.state}: {group.example.reason}"
            )
        if not groups:
            self.stdout.write("No dead letters.")

    def _list_letters(self, chosen: list[Which]) -> None:
        for rows in (which.rows().order_by("-settled_at") for which in chosen):
            for dead_letter in rows[:_MOST_SHOWN]:
                self.stdout.write(
                    f"{dead_letter.pk}  {_shown(dead_letter.settled_at)}  {dead_letter.state:7}  {dead_letter.reason}"
                )
            if (count := rows.count()) > _MOST_SHOWN:
                self.stdout.write(f"… and {count - _MOST_SHOWN:,} older ones")

    def _replay(self, chosen: list[Which], options: dict[str, Any]) -> None:
        # A letter that is named by its key is replayed even if it is stale.
        skip = None if options["id"] and options["max_age"] is None else dead_letters.stale(options["max_age"])
        how = {"per_minute": options["rate"], "skip": skip}
        rate = f", {options['rate']} a minute" if options["rate"] else ""
        self._act(dead_letters.REPLAY, chosen, options, f"will be replayed{rate}.", **how)

    def _discard(self, chosen: list[Which], options: dict[str, Any]) -> None:
        if not (reason := options["reason"].strip()):
            raise CommandError("Say why with --reason: it is kept with each letter, and shown to its owner.")
        self._act(dead_letters.DISCARD, chosen, options, "discarded.", reason=reason)

    def _act(self, act: Act, chosen: list[Which], options: dict[str, Any], result: str, **how: Any) -> None:
        self._confirm(act.name.capitalize(), chosen, options["yes"])
        done: list[Done] = [act.do(one.rows(), str(one), _who(), cause=one.cause, **how) for one in chosen]
        changed, stale = sum(len(one.changed) for one in done), sum(one.stale for one in done)
        skipped = f" {stale:,} stale, left as they are." if stale else ""
        if not changed:
            raise CommandError(f"Nothing was done.{skipped}")
        self.stdout.write(f"{changed:,} {result}{skipped}")

    def _confirm(self, what: str, chosen: list[Which], yes: bool) -> None:
        count, text = sum(which.rows().count() for which in chosen), str(chosen[0])
        if len(chosen) > 1:  # each kind has another word for who runs it
            text = text.replace(f"the {chosen[0].kind.handler_name} ", "")
        if count == 0:
            raise CommandError(f"No dead letters match: {text}.")
        if yes:
            return
        if not sys.stdin.isatty():
            raise CommandError(f"{count:,} match: {text}. Nobody is here to be asked; say --yes to go on.")
        if input(f"{what} {count:,}: {text}? [y/N] ").strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was done.")


def _shown(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%d %H:%M}"


def _who() -> Who:
    try:
        return Who(None, f"{getpass.getuser()}, at the command line")
    except (KeyError, OSError):  # a container's user need not have a name
        return Who(None, "somebody at the command line")
