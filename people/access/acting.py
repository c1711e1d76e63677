"""Acting for a team: `request.user` is the team, on the pages of what accounts own."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.middleware.csrf import rotate_token
from django.urls import resolve, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from common.redis.request_slots import SAFE
from people.models import Membership, User

TEAM = "acting_for"
"""The team's id in the session of its member."""

_ABOUT_THE_PERSON = (
    *("/account/", "/admin/", "/teams/", "/theme/", "/address/"),
    *("/settings/activity/", "/settings/delete/", "/settings/oidc/"),
)
_BY_LINK = {
    *("people:home", "notifications:answer", "notifications:unsubscribe", "notifications:unsubscribe-remove"),
    *("events:leave", "events:receive", "jobs:stop", "schedules:feed", "notifications:board-receive"),
    *("watches:status", "watches:status-feed", "watches:badge"),
}
"""Pages that do not ask who is signed in."""
_OF_OWNERS = {"transfer:export", "people:account-download"}
_CHANGED_BY_OWNERS = {"people:settings"}
NOT_FOR_VIEWERS = {
    *("notifications:channel-secret", "schedules:feed-address", "events:inbound", "people:token-new"),
    *("watches:badges", "watches:status-pages", "watches:status-page", "watches:subscribers"),
    *("schedules:new", "schedules:edit", "schedules:import", "events:rule-new", "notifications:channel-new"),
}
"""Pages that show a secret, with which a program could write, or others read; and forms in the palette or a list."""


def apply(request: HttpRequest) -> None:
    """Make `request.user` the team of the membership `request.acting`, unless the page is about the person.

    Raises PermissionDenied, in words, for a role that may not do this.
    """
    membership: Membership | None = getattr(request, "acting", None)
    if membership is None or request.path_info.startswith(_ABOUT_THE_PERSON):
        return
    if (name := resolve(request.path_info).view_name) in _BY_LINK:
        return
    request.user = membership.team
    timezone.activate(membership.team.zone)
    changes = request.method not in SAFE
    if name in _OF_OWNERS or (changes and name in _CHANGED_BY_OWNERS):
        require_owner(membership)
    if changes or name in NOT_FOR_VIEWERS:
        require_change(membership)


def require_owner(membership: Membership) -> None:
    if not membership.is_owner:
        raise PermissionDenied(_("Only owners of the team may do this. Ask one of them."))


def require_change(membership: Membership) -> None:
    if not membership.may_change:
        raise PermissionDenied(_("You are a viewer of this team: you can look, but not change anything."))


def as_person(request: HttpRequest) -> None:
    """Undo `apply`, for a check of who is signed in."""
    if isinstance(request.user, User):
        request.user = request.user.actor


def is_of_open_page(request: HttpRequest) -> bool:
    """Whether an open page asks by itself: nobody may be there."""
    asks = request.path in (reverse("notifications:state"), reverse("live:socket")) or "HX-Request" in request.headers
    return request.method == "GET" and asks


def switch(request: HttpRequest, membership: Membership | None) -> None:
    """Act for a team from now on, or for oneself. Forms that other tabs show are then refused, as expired."""
    if membership is None:
        request.session.pop(TEAM, None)
    else:
        request.session[TEAM] = membership.team_id
    rotate_token(request)
