"""`manage.py receive_pings`: take pings by mail, at the domain of PING_DOMAIN."""

import asyncio
import signal
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.database import sums
from watches import mail


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Receives mails to the addresses of watches, by SMTP. The MX of PING_DOMAIN leads to it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
        parser.add_argument("--port", type=int, default=2525)

    def handle(self, *, host: str, port: int, **_: Any) -> None:
        if not settings.PING_DOMAIN:
            raise CommandError("Set PING_DOMAIN to the domain of the addresses first, such as ping.example.org.")
        sums.start()
        with suppress(asyncio.CancelledError):
            asyncio.run(self._serve(host, port))

    async def _serve(self, host: str, port: int) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - within asyncio.run
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        self.stdout.write(f"Pings are received at {host}, port {port}, for {settings.PING_DOMAIN}.")
        await mail.serve(host, port)
