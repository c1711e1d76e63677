"""`manage.py release send|skip|keep`: decide for what is open, and end the hold."""

import math
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.texts.numbers import grouped
from work.engine import hold


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Ends the hold. What was open before it is sent, skipped (cancelled), or kept as dead letters."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("choice", choices=hold.Choice.values)

    def handle(self, *, choice: str, **_: Any) -> None:
        if not hold.is_on():
            raise CommandError("Carillon is not on hold.")
        for name, count in hold.open_work(hold.since()).items():
            self.stdout.write(f"{name}: {grouped(count)} open")
        if not hold.release(hold.Choice(choice), math.inf):
            raise CommandError("Some work is still being done. Repeat this in 90 s.")
        self.stdout.write("Released.")
