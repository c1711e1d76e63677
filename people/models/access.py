"""Tokens, codes and sessions; changes of addresses, and events that matter for security."""

from importlib import import_module
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy

from common.database.triggers import refuse_unreadable
from common.models import DatedRow, Row
from people.models.user import User

MOST_OF_AGENT = 200  # characters of what a browser says of itself


class Code(models.Model):
    """A code that was sent to verify `subject`, such as a channel. See `codes`."""

    subject = models.UUIDField(primary_key=True)
    nonce = models.CharField(max_length=40)
    made_at = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)


class ApiToken(DatedRow):
    """A bearer token of the HTTP API. Only its hash is stored; `prefix` is its readable beginning. See `tokens`.

    `made_by_id` is the token that made it; null: a person did, on the settings page. Of a team's token, `member` is the
    person in whose name it acts: it is valid as long as they are a member.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    label = models.CharField(max_length=80)
    scopes = ArrayField(models.CharField(max_length=16))
    made_by_id = models.UUIDField(null=True, editable=False)
    member = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        editable=False,
    )
    prefix = models.CharField(max_length=16, editable=False)
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    calls = models.BigIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            # which may be deleted
            models.Index(fields=["revoked_at"], condition=~models.Q(revoked_at=None), name="apitoken_revoked"),
            models.Index(fields=["member"], condition=~models.Q(member=None), name="apitoken_of_member"),
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


class CalendarFeed(DatedRow):
    """The secret address at which calendars read a person's reminders. See `schedules.agenda.feed`.

    `hashed` finds it by the secret part of its address (`token`), which `sealed_secrets` holds to show it again.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="calendar_feed")
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    sealed_secrets = models.TextField(editable=False)

    class Meta:
        triggers = [refuse_unreadable("created_at")]


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


class AddressChange(Row):
    """A change of a person's primary address that a link can undo. See `address_undo`."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    old_email = models.EmailField()
    new_email = models.EmailField()
    at = models.DateTimeField(db_default=Now(), editable=False)
    undone_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        triggers = [refuse_unreadable("at", "undone_at")]


class SecurityEvent(Row):
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
        TEAM_JOINED = "team-joined", gettext_lazy("Joined a team")
        TEAM_LEFT = "team-left", gettext_lazy("No longer a member of a team")
        TEAM_ROLE = "team-role", gettext_lazy("Role in a team changed")

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
    def readable(self) -> list[str]:
        """The readable part of `detail`: addresses, the beginning of a token, and the name of a team."""
        return [
            self.detail[name] for name in ("email_address", "to_email_address", "token", "team") if name in self.detail
        ]


class RefusedMailbox(models.Model):
    """A mailbox whose reader wants no more email from accounts that have not confirmed it. See `mailboxes`."""

    mailbox = models.CharField(gettext_lazy("mailbox"), max_length=320, primary_key=True)
    refused_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = gettext_lazy("refused mailbox")
        verbose_name_plural = gettext_lazy("refused mailboxes")

    def __str__(self) -> str:
        return self.mailbox
