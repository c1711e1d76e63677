"""`manage.py second_factor show | remove`, for people who lost theirs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from people.models import User
from people.sign_in import second_factor


class Command(BaseCommand):
    requires_system_checks = ()
    help = "See whether somebody has a second factor, or take it from them because they have lost it."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, does in (
            ("show", "whether this person has a second factor"),
            ("remove", "take it from them, with their recovery codes: their password alone signs them in again"),
        ):
            verbs.add_parser(verb, help=does).add_argument("email", help="the address that they sign in with")

    def handle(self, *args: Any, verb: str, email: str, **options: Any) -> None:
        if (user := User.objects.filter(email__iexact=email.strip()).first()) is None:
            raise CommandError(f"Nobody signs in as {email}.")
        if verb == "show":
            self.stdout.write(f"{user.email} has {'a' if second_factor.is_set_up(user) else 'no'} second factor.")
            return
        if not second_factor.remove(user):
            raise CommandError(f"{user.email} has no second factor.")
        self.stdout.write(
            f"{user.email} signs in with the password alone. If the lost device may be in wrong hands, they should "
            "change their password too, which signs them out everywhere else."
        )
