"""People."""

from __future__ import annotations

from datetime import time
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

import pgtrigger
from django.conf import settings
from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext as _, gettext_lazy

from common import zones
from common.database import checks
from common.database.triggers import changed, update_of
from people import quiet

if TYPE_CHECKING:
    from people.models.team import Membership


def validate_printable(address: str) -> None:
    """Refuse control characters: Django takes them in an email address, and they break the headers of a mail."""
    if not address.isprintable():
        raise ValidationError(_("Write the email address without control characters or line breaks."))


def display_name(name: str, email: str) -> str:
    """The name in messages: their name, or the part of their address before the `@`."""
    return name or email.partition("@")[0]


DISPLAY_NAME_SQL = "coalesce(nullif(u.name, ''), split_part(u.email, '@', 1))"
"""`display_name` of a row `u` of people_user."""


_OF_EVERYBODY = (
    *("notifications.view_channel", "notifications.view_delivery", "notifications.view_notification"),
    "schedules.view_schedule",
)


class PersonManager(BaseUserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Return the address in lower case, as allauth looks it up."""
        return super().normalize_email(email).lower()

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create an operator; the address counts as confirmed and need not receive email."""
        from allauth.account.models import EmailAddress
        from allauth.account.signals import user_signed_up

        user = self.create_user(email, password, is_staff=True, is_superuser=True, **fields)
        EmailAddress.objects.create(user=user, email=user.email, primary=True, verified=True)
        user_signed_up.send(User, request=None, user=user)
        return user


class Theme(models.TextChoices):
    """The colours of a person's pages."""

    SYSTEM = "system", gettext_lazy("System")
    LIGHT = "light", gettext_lazy("Light")
    DARK = "dark", gettext_lazy("Dark")


class User(AbstractUser):
    """A person, or a team: an account for which its members act, see `people.teams`.

    `time_zone` is an IANA name, empty until chosen; read it through `zone`.

    `language` is one of LANGUAGES. Empty: on pages what the browser asks for, elsewhere the installation's.

    `quiet_from` and `quiet_until` are wall-clock times in that zone, and so are the `weekly_hours` in which messages
    may come ({"mon": ["08:00", "18:00"]}; empty: not used); see `quiet`. `public_holidays` is a country or one of its
    regions ("DE-BY"). Once its person has asked for its deletion, the account is not active any more, and a task
    deletes it; see `account_deletion`.
    """

    username = None  # type: ignore[assignment]  # people sign in with their email address
    first_name = None  # type: ignore[assignment]  # `name` instead
    last_name = None  # type: ignore[assignment]
    email = models.EmailField(gettext_lazy("email address"), unique=True, validators=[validate_printable])
    name = models.CharField(gettext_lazy("name"), max_length=150, blank=True)
    time_zone = models.CharField(gettext_lazy("time zone"), max_length=64, blank=True, validators=[zones.validate])
    language = models.CharField(
        gettext_lazy("language"), max_length=10, blank=True, db_default="", default="", choices=settings.LANGUAGES
    )
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    weekly_hours = models.JSONField(default=dict, db_default={}, blank=True)
    public_holidays = models.CharField(max_length=24, default="", db_default="", blank=True)
    # Set by an operator, in the place of the installation's limits.
    events_per_day = models.PositiveIntegerField(
        gettext_lazy("events a day"), null=True, blank=True, help_text=gettext_lazy("Empty: as for all. 0: no limit.")
    )
    event_megabytes_per_day = models.PositiveIntegerField(
        gettext_lazy("MiB of events a day"),
        null=True,
        blank=True,
        help_text=gettext_lazy("Empty: as for all. 0: no limit."),
    )
    deletion_asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_team = models.BooleanField(default=False, db_default=False, editable=False)
    theme = models.CharField(max_length=6, choices=Theme.choices, default=Theme.SYSTEM, db_default=Theme.SYSTEM)
    keyboard_shortcuts = models.BooleanField(default=True, db_default=True)

    acting: Membership | None = None
    """Of a team, in a request or a call: the membership by which somebody acts for it."""

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[PersonManager] = PersonManager()  # type: ignore[assignment]  # narrower than AbstractUser's

    class Meta(AbstractUser.Meta):
        indexes = [
            # the accounts to delete, every half minute
            models.Index(fields=["id"], condition=Q(deletion_asked_at__isnull=False), name="people_user_to_delete")
        ]
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="people_user_email",
                violation_error_message=gettext_lazy("Somebody already signs in with this address."),
            ),
            models.CheckConstraint(
                condition=Q(is_team=False) | Q(is_staff=False, is_superuser=False, password__startswith="!"),  # noqa: S106
                name="people_user_team",
                violation_error_message=gettext_lazy("Nobody signs in as a team, and it has no rights of staff."),
            ),
            # Python cannot read PostgreSQL's 24:00 or years after 9999; one such row would break whole pages.
            *checks.named(
                "people_user",
                quiet_from=Q(quiet_from__isnull=True) | Q(quiet_from__lte=time.max),
                quiet_until=Q(quiet_until__isnull=True) | Q(quiet_until__lte=time.max),
                weekly_hours=checks.json("weekly_hours", 4),
                readable_instants=checks.instants("date_joined")
                & checks.instants(nullable=("last_login", "deletion_asked_at")),
            ),
        ]
        triggers = [
            # Whoever changes the row, also by SQL: an account that is switched on again has nothing that was stolen.
            pgtrigger.Trigger(
                name="user_ends_sessions",
                when=pgtrigger.After,
                operation=update_of("is_active", "password"),
                condition=pgtrigger.Condition(f"((OLD.is_active AND NOT NEW.is_active) OR {changed('password')})"),
                func="""
                DELETE FROM people_session WHERE user_id = NEW.id;
                IF NOT NEW.is_active THEN
                    UPDATE people_apitoken SET revoked_at = now()
                     WHERE (user_id = NEW.id OR member_id = NEW.id) AND revoked_at IS NULL;
                    DELETE FROM people_calendarfeed
                     WHERE user_id = NEW.id
                        OR user_id IN (SELECT team_id FROM people_membership WHERE person_id = NEW.id);
                END IF;
                RETURN NULL;
                """,
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def actor(self) -> User:
        """The person who acts: the member, for a team."""
        return self if self.acting is None else self.acting.person

    @property
    def may_change(self) -> bool:
        return self.acting is None or self.acting.may_change

    @property
    def sees_everybody(self) -> bool:
        """Whether they may see the changes and reports of all accounts: staff alone may see nothing."""
        return self.is_active and self.is_staff and self.has_perms(_OF_EVERYBODY)

    @property
    def zone(self) -> ZoneInfo:
        """The person's zone; UTC if it is not chosen or damaged."""
        return zones.read(self.time_zone)

    @property
    def hours(self) -> quiet.Hours | None:
        """When they may be disturbed; None: at any time."""
        chosen = self.quiet_from, self.quiet_until, self.time_zone, self.weekly_hours, self.public_holidays
        return quiet.hours(*chosen)

    @property
    def has_damaged_zone(self) -> bool:
        return zones.is_damaged(self.time_zone)

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return display_name(self.name, self.email)
