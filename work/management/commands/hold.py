"""`manage.py hold`: nothing is sent and no reminder fires until it is released."""

from typing import Any

from django.core.management.base import BaseCommand

from work.engine import hold


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Sends nothing and fires no reminder until `manage.py release`, or the page Outages of the admin."

    def handle(self, **_: Any) -> None:
        hold.begin()
        self.stdout.write("On hold. Sends that are under way end within 90 s.")
