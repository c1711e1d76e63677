"""Events of security, by the signals of Django and allauth: one line in the log and one row for each.

A source can cause only so many of a type in a minute, and so can all strangers together: more would fill the disk.
"""

import logging
import time
from collections import Counter
from threading import Lock
from typing import Any

from allauth.account import signals as account_signals
from allauth.account.internal.userkit import filter_users_by_email
from allauth.core import context
from allauth.core.internal import ratelimit
from allauth.mfa import signals as mfa_signals
from allauth.socialaccount import signals as social_signals
from django.contrib.auth import signals as auth_signals
from django.contrib.auth.models import Group
from django.db import DatabaseError, models, transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from people.models import SecurityEvent, User
from people.sign_in import sessions

Type = SecurityEvent.Type

KEPT_DAYS = 90
MOST_OF_SOURCE, MOST_OF_STRANGERS = 20, 60
"""A minute and process, of each type: many refusals hide no new token. Of a person or network; of all strangers."""
_BY_STRANGERS = {Type.SIGN_IN_FAILED, Type.LOCKED_OUT, Type.RESET_REQUESTED, Type.TOKEN_REFUSED, Type.ACCESS_DENIED}
_RIGHTS = ("is_active", "is_staff", "is_superuser")
_GRANTS = {
    User.groups.through: "groups",
    User.user_permissions.through: "permissions",
    Group.permissions.through: "permissions_of_group",
}

log = logging.getLogger(__name__)


class _Counts:
    """Events of this minute, by source."""

    def __init__(self) -> None:
        self._lock, self._minute, self._by_source = Lock(), 0, Counter[str]()

    def allow(self, sources: dict[str, int]) -> bool:
        """Count one for each of `sources` unless one of them has reached its limit; the first refusal is logged."""
        minute = int(time.monotonic() // 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._by_source = minute, Counter()
            full = [source for source, most in sources.items() if self._by_source[source] >= most]
            self._by_source.update(full or list(sources))
            first = any(self._by_source[source] == sources[source] + 1 for source in full)
        if first:
            log.warning("No more security events of %s are recorded in this minute", ", ".join(full))
        return not full


counts = _Counts()


def record(
    event: SecurityEvent.Type, user: User | None = None, request: HttpRequest | None = None, **detail: Any
) -> None:
    """Write the line and the row. Never raises: what is recorded has happened.

    `user` is whom it is about; for a team it is the member who acts for it, who reads it among their own.
    """
    request = request or context.request
    address, agent = sessions.client(request)
    person = getattr(user, "pk", None)
    signed_in = person is not None and user == getattr(request, "user", None)
    # Of IPv6 the /64, which one customer has whole.
    source = f"user {person}" if signed_in else f"address {ratelimit.truncate_ip(address or '')}"
    sources = {f"{event.value} of {source}": MOST_OF_SOURCE}
    if event in _BY_STRANGERS and not signed_in:
        sources[f"{event.value} of strangers"] = MOST_OF_STRANGERS
    if not counts.allow(sources):
        return
    if (acting := getattr(user, "acting", None)) is not None:
        person, detail = acting.person_id, detail | {"team": acting.team.name}
    log.info("security event=%s user=%s address=%s", event.value, person, address)
    try:
        with transaction.atomic():
            SecurityEvent.objects.create(type=event, user_id=person, address=address, agent=agent, detail=detail)
    except DatabaseError as error:
        log.error("Cannot record a security event: %s", type(error).__name__)


def of_person(user: User, most: int) -> list[SecurityEvent]:
    return list(SecurityEvent.objects.filter(user=user).order_by("-id")[:most])


def find_by_email(email: str) -> User | None:
    users: list[User] = filter_users_by_email(email, prefer_verified=True, for_login=True)
    return users[0] if users else None


class Refusals(MiddlewareMixin):
    """Record answers that refuse access."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.status_code in (401, 403):
            # A call of the API has the person of its token, if any.
            person = getattr(getattr(request, "auth", request), "user", None)
            user = person if person is not None and person.is_authenticated else None
            page = request.resolver_match.route if request.resolver_match else ""
            event = Type.TOKEN_REFUSED if response.status_code == 401 else Type.ACCESS_DENIED
            record(event, user, request, page=page[:200])
        return response


def _on(signal: Any, event: SecurityEvent.Type, *named: str, of: str = "user") -> None:
    """Record `event` for each signal, with the type of its factor or the addresses in its arguments `named`.

    `of`: the argument that is its person, or that has it as its `user`. None: nobody was signed in.
    """

    def listen(request: HttpRequest | None = None, **given: Any) -> None:
        if (user := given[of] if of == "user" else given[of].user) is not None:
            rows = {name: given[name] for name in named if given.get(name)}
            detail = {name: getattr(row, "email", None) or row.type for name, row in rows.items()}
            record(event, user, request, **detail)

    signal.connect(listen, weak=False)


_on(account_signals.user_signed_up, Type.SIGNED_UP)
_on(auth_signals.user_logged_in, Type.SIGNED_IN)
_on(auth_signals.user_logged_out, Type.SIGNED_OUT)
_on(account_signals.password_reset, Type.PASSWORD_RESET)
_on(account_signals.password_changed, Type.PASSWORD_CHANGED)
_on(account_signals.email_added, Type.ADDRESS_ADDED, "email_address")
_on(account_signals.email_confirmed, Type.ADDRESS_CONFIRMED, "email_address", of="email_address")
_on(account_signals.email_removed, Type.ADDRESS_REMOVED, "email_address")
_on(account_signals.email_changed, Type.ADDRESS_CHANGED, "from_email_address", "to_email_address")
_on(mfa_signals.authenticator_added, Type.FACTOR_ADDED, "authenticator")
_on(mfa_signals.authenticator_removed, Type.FACTOR_REMOVED, "authenticator")
_on(mfa_signals.authenticator_reset, Type.CODES_MADE)
_on(mfa_signals.authentication_failed, Type.FACTOR_FAILED, "authenticator")
_on(social_signals.social_account_added, Type.LINKED, of="sociallogin")
_on(social_signals.social_account_removed, Type.UNLINKED, of="socialaccount")


@receiver(auth_signals.user_login_failed)
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: object) -> None:
    """The address that was typed is not kept where nobody has it: people type passwords there by mistake."""
    email = str(credentials.get("email") or credentials.get("username") or "")
    record(Type.SIGN_IN_FAILED, find_by_email(email), request)


@receiver(models.signals.pre_save, sender=User)
def _changed(instance: User, update_fields: frozenset[str] | None, **_: object) -> None:
    """Rights, and a password that somebody else sets."""
    if instance.pk is None or (update_fields is not None and not {*_RIGHTS, "password"} & update_fields):
        return
    before = User.objects.filter(pk=instance.pk).values(*_RIGHTS, "password").first()
    if before is None:
        return
    changed = {name: getattr(instance, name) for name in _RIGHTS if getattr(instance, name) != before[name]}
    if changed:
        record(Type.RIGHTS_CHANGED, instance, by=_actor(), **changed)
    if instance.password != before["password"] and _actor() not in (None, instance.pk):
        record(Type.PASSWORD_CHANGED, instance, by=_actor())


@receiver(models.signals.m2m_changed)
def _permissions(sender: Any, instance: Any, action: str, pk_set: set[int] | None, **_: object) -> None:
    name = _GRANTS.get(sender)
    if name is not None and action in ("post_add", "post_remove", "pre_clear"):
        user, ids = instance if isinstance(instance, User) else None, sorted(pk_set or ())[:50]
        record(Type.RIGHTS_CHANGED, user, by=_actor(), of=instance.pk, ids=ids, change=f"{name} {action}")


def _actor() -> int | None:
    user = getattr(context.request, "user", None)
    return user.pk if user is not None else None
