"""People, the codes sent to them, and the mailboxes that want no more email."""

from __future__ import annotations

from datetime import time
from importlib import import_module
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pgtrigger
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from common import zones
from common.database import checks
from common.database.triggers import changed, refuse_unreadable, update_of
from common.uuid7 import uuid7

MOST_OF_AGENT = 200  # characters of what a browser says of itself


def validate_printable(address: str) -> None:
    """Refuse control characters: Django takes them in an email address, and they break the headers of a mail."""
    if not address.isprintable():
        raise ValidationError(_("Write the email address without control characters or line breaks."))


def display_name(name: str, email: str) -> str:
    """The name in messages: their name, or the part of their address before the `@`."""
    return name or email.partition("@")[0]


DISPLAY_NAME_SQL = "coalesce(nullif(u.name, ''), split_part(u.email, '@', 1))"
"""`display_name` of a row `u` of people_user."""


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
    """A person. `time_zone` is an IANA name, empty until chosen; read it through `zone`.

    `language` is one of LANGUAGES. Empty: on pages what the browser asks for, elsewhere the installation's.

    `quiet_from` and `quiet_until` are wall-clock times in that zone; see `quiet`. Once its person has asked for its
    deletion, the account is not active any more, and a task deletes it; see `account_deletion`.
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
    theme = models.CharField(max_length=6, choices=Theme.choices, default=Theme.SYSTEM, db_default=Theme.SYSTEM)
    keyboard_shortcuts = models.BooleanField(default=True, db_default=True)

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
            # Python cannot read PostgreSQL's 24:00 or years after 9999; one such row would break whole pages.
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True) | Q(quiet_from__lte=time.max), name="people_user_quiet_from"
            ),
            models.CheckConstraint(
                condition=Q(quiet_until__isnull=True) | Q(quiet_until__lte=time.max), name="people_user_quiet_until"
            ),
            models.CheckConstraint(
                condition=checks.instants("date_joined")
                & checks.instants(nullable=("last_login", "deletion_asked_at")),
                name="people_user_readable_instants",
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
                    UPDATE people_apitoken SET revoked_at = now() WHERE user_id = NEW.id AND revoked_at IS NULL;
                    DELETE FROM people_calendarfeed WHERE user_id = NEW.id;
                END IF;
                RETURN NULL;
                """,
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def zone(self) -> ZoneInfo:
        """The person's zone; UTC if it is not chosen or damaged."""
        return zones.read(self.time_zone)

    @property
    def has_damaged_zone(self) -> bool:
        return zones.is_damaged(self.time_zone)

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return display_name(self.name, self.email)


class Code(models.Model):
    """A code that was sent to verify `subject`, such as a channel. See `codes`."""

    subject = models.UUIDField(primary_key=True)
    nonce = models.CharField(max_length=40)
    made_at = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.subject)


class ApiToken(models.Model):
    """A bearer token of the HTTP API. Only its hash is stored; `prefix` is its readable beginning. See `tokens`.

    `made_by_id` is the token that made it; null: its person did, on the settings page.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    label = models.CharField(max_length=80)
    scopes = ArrayField(models.CharField(max_length=16))
    made_by_id = models.UUIDField(null=True, editable=False)
    prefix = models.CharField(max_length=16, editable=False)
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            # which may be deleted
            models.Index(fields=["revoked_at"], condition=~models.Q(revoked_at=None), name="apitoken_revoked")
        ]
        triggers = [refuse_unreadable("created_at", "expires_at", "revoked_at", "last_used_at", lists=["scopes"])]

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class SecondFactor(Authenticator):  # type: ignore[misc]  # allauth ships no types
    """allauth's table of authenticator apps, security keys and recovery codes, for its trigger."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = [refuse_unreadable("created_at", "last_used_at", objects=["data"])]


class CalendarFeed(models.Model):
    """The secret address at which calendars read a person's reminders. See `schedules.agenda.feed`.

    `hashed` finds it by the secret part of its address (`token`), which `sealed_secrets` holds to show it again.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="calendar_feed")
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    sealed_secrets = models.TextField(editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        triggers = [refuse_unreadable("created_at")]

    def __str__(self) -> str:
        return f"Calendar of {self.user_id}"


class Session(AbstractBaseSession):
    """A browser in which somebody is signed in, or about to sign in. See `sessions`."""

    # Without a constraint: the row of an account that is being deleted would make a sign-in wait for it.
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=MOST_OF_AGENT, blank=True)

    class Meta(AbstractBaseSession.Meta):
        triggers = [refuse_unreadable("started_at", "seen_at", "expire_date")]

    @classmethod
    def get_session_store_class(cls) -> Any:
        return import_module(settings.SESSION_ENGINE).SessionStore


class AddressChange(models.Model):
    """A change of a person's primary address that a link can undo. See `address_undo`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    old_email = models.EmailField()
    new_email = models.EmailField()
    at = models.DateTimeField(db_default=Now(), editable=False)
    undone_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        triggers = [refuse_unreadable("at", "undone_at")]

    def __str__(self) -> str:
        return f"{self.old_email}, {self.new_email}"


class SecurityEvent(models.Model):
    """Something that matters for the security of an account or of the installation. See `security_log`.

    `user` is the person it is about; null where nobody knows. `detail` holds ids, codes and addresses, no secrets.
    """

    class Type(models.TextChoices):
        SIGNED_UP = "signed-up", gettext_lazy("Account created")
        SIGNED_IN = "signed-in", gettext_lazy("Signed in")
        SIGNED_OUT = "signed-out", gettext_lazy("Signed out")
        SIGN_IN_FAILED = "sign-in-failed", gettext_lazy("Wrong password")
        LOCKED_OUT = "locked-out", gettext_lazy("Too many wrong passwords or codes")
        RESET_REQUESTED = "reset-requested", gettext_lazy("New password requested")
        PASSWORD_RESET = "password-reset", gettext_lazy("Password set by a link")  # no password
        PASSWORD_CHANGED = "password-changed", gettext_lazy("Password changed")
        FACTOR_ADDED = "factor-added", gettext_lazy("Second factor added")
        FACTOR_REMOVED = "factor-removed", gettext_lazy("Second factor removed")
        FACTOR_FAILED = "factor-failed", gettext_lazy("Wrong code or security key")
        LINKED = "linked", gettext_lazy("Linked to an OpenID provider")
        UNLINKED = "unlinked", gettext_lazy("Link to an OpenID provider ended")
        CODES_MADE = "codes-made", gettext_lazy("New recovery codes")
        TOKEN_MADE = "token-made", gettext_lazy("API token made")
        TOKEN_ROTATED = "token-rotated", gettext_lazy("Secret of an API token replaced")
        TOKEN_REVOKED = "token-revoked", gettext_lazy("API token revoked")
        TOKEN_REFUSED = "token-refused", gettext_lazy("API call without a valid token")
        ADDRESS_ADDED = "address-added", gettext_lazy("Email address added")
        ADDRESS_CONFIRMED = "address-confirmed", gettext_lazy("Email address confirmed")
        ADDRESS_CHANGED = "address-changed", gettext_lazy("Primary email address changed")
        ADDRESS_REMOVED = "address-removed", gettext_lazy("Email address removed")
        ADDRESS_RESTORED = "address-restored", gettext_lazy("Email address restored by its link")
        RIGHTS_CHANGED = "rights-changed", gettext_lazy("Rights changed")
        ACCESS_DENIED = "access-denied", gettext_lazy("Access denied")
        EXPORTED = "exported", gettext_lazy("Data downloaded")
        DELETION_ASKED = "deletion-asked", gettext_lazy("Deletion of the account requested")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    type = models.CharField(gettext_lazy("type"), max_length=20, choices=Type.choices)
    # Without a constraint: recording a wrong password must not wait for the account's row.
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, db_constraint=False
    )
    address = models.GenericIPAddressField(gettext_lazy("IP address"), null=True)
    agent = models.CharField(gettext_lazy("browser"), max_length=MOST_OF_AGENT, blank=True)
    detail = models.JSONField(gettext_lazy("details"), default=dict)

    class Meta:
        verbose_name = gettext_lazy("security event")
        verbose_name_plural = gettext_lazy("security events")
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "-id"], name="security_event_of_person")]
        triggers = [refuse_unreadable("at", objects=["detail"])]

    def __str__(self) -> str:
        return str(self.get_type_display())

    @property
    def told(self) -> list[str]:
        """The readable part of `detail`: addresses, and the beginning of a token."""
        return [self.detail[name] for name in ("email_address", "to_email_address", "token") if name in self.detail]


class RefusedMailbox(models.Model):
    """A mailbox whose reader wants no more email from accounts that have not confirmed it. See `mailboxes`."""

    mailbox = models.CharField(gettext_lazy("mailbox"), max_length=320, primary_key=True)
    refused_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = gettext_lazy("refused mailbox")
        verbose_name_plural = gettext_lazy("refused mailboxes")

    def __str__(self) -> str:
        return self.mailbox
