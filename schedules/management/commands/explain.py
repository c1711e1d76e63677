"""`manage.py explain SCHEDULE [--since DATE]`: why each slot fired or did not, and which are to come."""

from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError

from common import zones
from common.texts.state_words import state_word
from common.times import durations
from schedules.explain import history
from schedules.explain.causes import Cause
from schedules.explain.history import ExplainedSlot
from schedules.firing import fire
from schedules.models import Schedule
from schedules.rules import civil

_DAYS = 7


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Explain why each slot of a schedule was sent or not, and list the next ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("schedule", help="the schedule's id, as in the address of its page")
        parser.add_argument(
            "--since", help=f"a date or a time on the schedule's clock, such as 2026-03-29T09:00; else {_DAYS} days ago"
        )

    def handle(self, *, schedule: str, since: str | None, **options: Any) -> None:
        if (explained := Schedule.objects.written(schedule)) is None:
            raise CommandError(f"There is no schedule “{schedule[:60]}”. Copy its id from the address of its page.")
        zone, now = zones.read(explained.time_zone), fire.read_clock().now
        begin = now - timedelta(days=_DAYS) if since is None else _instant(since, zone)
        self.stdout.write(f"{explained.title}: {explained.when}")
        clock = "each reader’s clock" if explained.local_time else zone.key
        self.stdout.write(f"It is {explained.state}. Times are those of {clock}.\n\n")
        for slot in _all(explained, begin, now):
            self._write(slot, zone)
        coming = history.coming(explained, now)
        self.stdout.write("\nTo come:" if coming else "\nNothing is to come.")
        for slot in coming:
            self._write(slot, zone)

    def _write(self, slot: ExplainedSlot, zone: ZoneInfo) -> None:
        late = "" if slot.late is None or slot.late < history.PUNCTUAL else f", {durations.in_words(slot.late)} late"
        sentences = [_sentence(cause, zone) for cause in slot.causes] + [f"{slot.note}."] * bool(slot.note)
        if slot.check is not None:
            at = "" if slot.check.at is None else f" {_local(slot.check.at, zone)}."
            sentences.insert(0, f"{slot.check.text}{at}")
        line = f"{_local(slot.slot, zone)}  {state_word(slot.outcome)}{late}"
        self.stdout.write("  ".join([line, " ".join(sentences)]).rstrip())


def _instant(text: str, zone: ZoneInfo) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"“{text[:60]}” is not a date. Write one such as 2026-03-29, or 2026-03-29T09:00.") from None
    return instant if instant.tzinfo else instant.replace(tzinfo=zone)


def _all(schedule: Schedule, since: datetime, now: datetime) -> list[ExplainedSlot]:
    """Everything since then, oldest first."""
    slots: list[ExplainedSlot] = []
    until = now + civil.TICK
    while page := history.past(schedule, since, until, now):
        slots += page
        until = page[-1].slot
    return slots[::-1]


def _local(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def _sentence(cause: Cause, zone: ZoneInfo) -> str:
    words = [cause.text]
    if cause.began is not None:
        words.append(f"{'since' if cause.ended is None else 'from'} {_local(cause.began, zone)}")
    if cause.ended is not None:
        words.append(f"to {_local(cause.ended, zone)}")
    return " ".join([*words, *([f"by {cause.by}"] if cause.by else [])]) + "."
