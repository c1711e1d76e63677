"""`manage.py account export | delete`, for people who ask for it and cannot do it on their page."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.forms.not_possible import NotPossible
from people.account import deletion, export
from people.models import SecurityEvent, User
from people.sign_in import security_log


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Write what is stored about a person into a file, or delete their account, as they can under Settings."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        one = verbs.add_parser("export", help="write a new zip, without secrets")
        one.add_argument("email", help="the address that they sign in with")
        one.add_argument("file")
        two = verbs.add_parser("delete", help="switch it off at once; a worker erases its rows within minutes")
        two.add_argument("email", help="the address that they sign in with")
        two.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, verb: str, email: str, **options: Any) -> None:
        if (user := User.objects.filter(email__iexact=email.strip()).first()) is None:
            raise CommandError(f"Nobody signs in as {email}.")
        if verb == "export":
            self._export(user, Path(options["file"]))
        else:
            self._delete(user, options["yes"])

    def _export(self, user: User, path: Path) -> None:
        try:
            with path.open("xb") as file:
                path.chmod(0o600)
                export.write(user, file)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from None
        security_log.record(SecurityEvent.Type.EXPORTED, user, None)
        self.stdout.write(f"{path} has what is stored about {user.email}, without secrets.")

    def _delete(self, user: User, yes: bool) -> None:
        if not yes:
            if not sys.stdin.isatty():
                raise CommandError("Nobody is here to be asked; say --yes to go on.")
            if input(f"This cannot be undone. Type {user.email} to delete the account: ").strip() != user.email:
                raise CommandError("Nothing was done.")
        try:
            deletion.request(user)
        except NotPossible as refusal:
            raise CommandError(str(refusal)) from None
        security_log.record(SecurityEvent.Type.DELETION_ASKED, user, None)
        self.stdout.write(f"{user.email} is switched off. A worker erases the rows within minutes; backups keep them.")
