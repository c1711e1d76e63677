"""`manage.py rotate_keys`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from notifications.channels import key_rotation
from people.sign_in import second_factor


class Command(BaseCommand):
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
        sealed = sealed_before = unreadable = 0
        for done in key_rotation.rotate():
            sealed, sealed_before = sealed + done.sealed, sealed_before + done.sealed_before
            unreadable += len(done.unreadable)
            for key in done.unreadable:
                noun = done.model._meta.verbose_name
                self.stderr.write(f"{noun} {key}: no key opens its secrets; it is left as it is")
            self.stdout.write(f"{sealed + sealed_before + unreadable} read …")
        self.stdout.write(f"{sealed} sealed with the first key, {sealed_before} were already, {unreadable} unreadable")
        factors = second_factor.rotate()
        for email in factors.unreadable:
            self.stderr.write(f"second factor of {email}: no key opens it; it is left as it is")
        self.stdout.write(
            f"second factors: {factors.sealed} sealed with the first key, {factors.sealed_before} were already, "
            f"{len(factors.unreadable)} unreadable"
        )
        if options["lost"] or not (unreadable or factors.unreadable):
            key_rotation.remember_keys()  # processes start with the keys that read this
        if unreadable or factors.unreadable:
            raise CommandError(
                f"{unreadable} secrets cannot be read, and {len(factors.unreadable)} secrets of second factors; "
                "put the key that is missing back, and run this again"
            )
