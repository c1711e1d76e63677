"""Django's session engine, with the person of each session in a column, an idle limit and an absolute one."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from allauth.account.authentication import get_authentication_records
from allauth.account.signals import authentication_step_completed, email_changed
from allauth.core.internal.httpkit import get_client_ip
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.conf import settings
from django.contrib.auth import SESSION_KEY, user_logged_in
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore as StockStore
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from common.redis import live_wakes
from people.access.acting import TEAM, is_of_open_page
from people.models import MOST_OF_AGENT, Membership, Session, User

IDLE, ABSOLUTE = timedelta(days=14), timedelta(days=90)
STAFF_IDLE, STAFF_ABSOLUTE = timedelta(hours=12), timedelta(days=7)
ANONYMOUS = timedelta(days=1)
"""Of a session in which nobody has signed in, such as of a sign-in that waits for its second factor."""
_USE_WRITTEN = timedelta(minutes=5)


class SessionStore(StockStore):
    """`row` is the session as it was loaded; `existed`: there was one; `client`: the request's address and browser."""

    row: Session | None = None
    existed = False
    client: tuple[str | None, str] = (None, "")

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        self.row = super()._get_session_from_db()  # type: ignore[misc]  # not in the stubs
        self.existed = self.existed or self.row is not None
        return self.row

    def create_model_instance(self, data: Mapping[str, Any]) -> Session:
        now, user_id = timezone.now(), data.get(SESSION_KEY)
        same = self.row is not None and user_id is not None and str(self.row.user_id) == user_id
        started_at = self.row.started_at if self.row is not None and same else now
        expires_at = now + ANONYMOUS if user_id is None else min(now + IDLE, started_at + ABSOLUTE)
        made = cast(Session, super().create_model_instance(dict(data)))
        made.expire_date, made.user_id = expires_at, user_id
        made.started_at, made.seen_at = started_at, now
        made.address, made.agent = self.client
        return made


class SessionLimits(MiddlewareMixin):
    """End sessions that are idle or old, earlier for staff; note every few minutes that one is used."""

    def process_request(self, request: HttpRequest) -> None:
        request.session.client = client(request)  # type: ignore[attr-defined]  # our engine's
        if request.user.is_authenticated and (row := getattr(request.session, "row", None)) is not None:
            now = timezone.now()
            if request.user.is_staff and is_over_for_staff(row, now):
                request.session.flush()
                request.user = AnonymousUser()
            elif now - row.seen_at > _USE_WRITTEN and not is_of_open_page(request):
                request.session.modified = True

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Keep the cookie of a key that opens nothing, which Django would delete, but not what the browser stored.

        Another request of the same browser may have renewed the key meanwhile: deleting its cookie would sign it out.
        """
        is_over = request.session.is_empty() and not getattr(request.session, "existed", False)
        if is_over and request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None) is not None:
            response["Clear-Site-Data"] = '"cache"'
        return response


def is_over_for_staff(row: Session, now: datetime) -> bool:
    return now - row.seen_at > STAFF_IDLE or now - row.started_at > STAFF_ABSOLUTE


def accounts(keys: Collection[str]) -> dict[str, int]:
    """By the keys of sessions that go on: the account that each acts for, its person or a team of theirs."""
    now = timezone.now()
    rows = Session.objects.filter(session_key__in=keys, expire_date__gt=now, user__is_active=True)
    by_key = {
        row.session_key: (row.user.pk, row.get_decoded().get(TEAM))
        for row in rows.select_related("user")
        if row.user is not None and not (row.user.is_staff and is_over_for_staff(row, now))
    }
    members = Membership.objects.filter(team__in={team for _, team in by_key.values()}, team__is_active=True)
    joined = set(members.values_list("person_id", "team_id"))
    return {key: team or person for key, (person, team) in by_key.items() if team is None or (person, team) in joined}


def client(request: HttpRequest | None) -> tuple[str | None, str]:
    """The request's IP address, and the beginning of what its browser says of itself."""
    if request is None:
        return None, ""
    agent = request.META.get("HTTP_USER_AGENT", "")
    address = (get_client_ip(request) or "").partition("%")[0]  # without the interface of a link-local one
    return address or None, "".join(filter(str.isprintable, agent))[:MOST_OF_AGENT]


def of_person(user: User) -> list[Session]:
    """The person's sessions, the last used first."""
    return list(Session.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-seen_at"))


def handle(session_key: str) -> str:
    """A name of the session for forms. The key itself would sign its reader in."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def end_others(user: User, request: HttpRequest | None) -> int:
    """Sign the person out everywhere but in the session of `request`. Returns how many sessions ended."""
    current = request.session.session_key if request is not None and request.user == user else None
    return Session.objects.filter(user=user).exclude(session_key=current or "").delete()[0]


# A new password ends sessions by a trigger of `User`.
@receiver([authenticator_added, authenticator_removed, authenticator_reset, email_changed])
def _end_others(request: HttpRequest, user: User, **_: object) -> None:
    end_others(user, request)


@receiver(post_save, sender=User)
@receiver([post_save, post_delete], sender=Membership)
def _check_sockets(instance: User | Membership, **_: object) -> None:
    """Open pages end at once when the account is switched off or gets another password, or a membership ends."""
    account = instance.team_id if isinstance(instance, Membership) else instance.pk
    transaction.on_commit(partial(live_wakes.wake, account))


@receiver(authentication_step_completed)
def _renew_key(request: HttpRequest, reauthenticated: bool = False, **_: object) -> None:
    """A key that was read before somebody confirmed who they are opens nothing afterwards."""
    if reauthenticated:
        request.session.cycle_key()


@receiver(user_logged_in)
def _count_as_confirmed(request: HttpRequest, user: User, **_: object) -> None:
    """A fresh sign-in counts as a confirmation; allauth itself counts only those that come later."""
    if records := get_authentication_records(request, user):
        records[-1]["reauthenticated"] = True
        request.session.modified = True
