"""A link, sent to the former primary address, that undoes its change for `DAYS`, for owners of a stolen session.

Only a confirmed address that was primary for `DAYS` gets one: a thief who changed it twice would keep a link.
Until then the address stays with its account, so that nobody can take it.
"""

from datetime import timedelta
from typing import Any

from allauth.account import app_settings
from allauth.account.models import EmailAddress
from allauth.account.signals import email_changed
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core import signing
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse

from people.models import AddressChange, ApiToken, CalendarFeed, SecurityEvent, User
from people.sign_in import security_log, sessions
from people.user_lock import lock_user

DAYS = 7
_SALT = "people.address_undo"


def _recent() -> QuerySet[AddressChange]:
    return AddressChange.objects.filter(at__gt=Now() - timedelta(days=DAYS))


def _open() -> QuerySet[AddressChange]:
    return _recent().filter(undone_at=None)


@receiver(email_changed)
def _remember(request: Any, user: User, from_email_address: Any, to_email_address: Any, **_: object) -> None:
    """Runs before allauth writes to the former address; the adapter puts the link into that email."""
    old, new = from_email_address, to_email_address.email
    if old is None:
        return
    has_link = old.verified and not _recent().filter(user=user, new_email=old.email).exists()
    end = None if has_link else Now()
    change = AddressChange.objects.create(user=user, old_email=old.email, new_email=new, undone_at=end)
    if has_link:
        request.undo_url = reverse("people:address-undo", args=[signing.dumps(str(change.pk), salt=_SALT)])


def is_reserved(address: EmailAddress) -> bool:
    """Whether a link may still bring this address back."""
    return _open().filter(user=address.user, old_email=address.email).exists()


def find(key: str) -> AddressChange | None:
    """The change that the link may undo now; None if it is forged, old, used, or its account is switched off."""
    try:
        pk = signing.loads(key, salt=_SALT)
    except signing.BadSignature:
        return None
    return _open().filter(pk=pk, user__is_active=True).select_related("user").first()


def undo(change: AddressChange, request: HttpRequest) -> str | None:
    """Restore the address, end what a thief may have made, and return where to choose a new password.

    Factors from before the change stay: who has only the mailbox does not get past them. None if it was undone already,
    or if an operator gave the address to somebody else.
    """
    user, email = change.user, change.old_email
    with lock_user(user):
        others = EmailAddress.objects.filter(email__iexact=email).exclude(user=user)
        if others.exists() or User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists():
            return None
        if not _open().filter(pk=change.pk, user__is_active=True).update(undone_at=Now()):
            return None
        # The links of a thief's own addresses.
        AddressChange.objects.filter(user=user, pk__gt=change.pk, undone_at=None).update(undone_at=Now())
        EmailAddress.objects.filter(user=user).exclude(email__iexact=email).delete()
        EmailAddress.objects.update_or_create(user=user, email=email, defaults={"primary": True, "verified": True})
        Authenticator.objects.filter(user=user, created_at__gte=change.at).delete()
        SocialAccount.objects.filter(user=user).delete()
        CalendarFeed.objects.filter(user=user).delete()
        ApiToken.objects.filter(Q(user=user) | Q(member=user), revoked_at=None).update(revoked_at=Now())
        user.refresh_from_db()
        user.email = email
        user.set_unusable_password()
        user.save(update_fields=["email", "password"])
        sessions.end_others(user, None)
    security_log.record(SecurityEvent.Type.ADDRESS_RESTORED, user, request, email_address=email)
    return password_page(user)


def password_page(user: User) -> str:
    """Return the page where the reader of its address chooses the account's password, once, within an hour."""
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)
    return reverse("account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": token})
