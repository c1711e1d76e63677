"""`manage.py rotate_keys`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from notifications.channels import key_rotation


class Command(BaseCommand):
    requires_system_checks = ()
    help = (
        "Seal the secrets of every channel, connection, inbound address, calendar address and second factor with the "
        "first of ENCRYPTION_KEYS. "
        "May be interrupted and run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--lost", action="store_true", help="a former key is lost for good: start with what the present ones read"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        secrets = key_rotation.Rotated()
        for _ in key_rotation.rotate(secrets):
            self.stdout.write(f"{secrets.sealed + secrets.sealed_before + len(secrets.unreadable)} read …")
        factors = key_rotation.rotate_factors()
        for name in secrets.unreadable:
            self.stderr.write(f"{name}: no key opens its secrets; it is left as it is")
        for name in factors.unreadable:
            self.stderr.write(f"{name}: no key opens it; it is left as it is")
        self.stdout.write(f"{secrets}\nsecond factors: {factors}")
        if options["lost"] or not (secrets.unreadable or factors.unreadable):
            key_rotation.remember_keys()  # processes start with the keys that read this
        if secrets.unreadable or factors.unreadable:
            raise CommandError(
                f"{len(secrets.unreadable)} secrets cannot be read, and {len(factors.unreadable)} secrets of second "
                "factors; put the key that is missing back, and run this again"
            )
