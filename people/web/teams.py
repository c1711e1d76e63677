"""Pages of teams: make, invite, join, change roles, remove, leave, delete; who is on call; for whom somebody acts."""

import re
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib import messages
from django.forms import all_valid
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from common.admin.base import as_uuid
from common.database.damaged import readable
from common.forms.not_possible import shown_in
from common.redis.request_limiter import limit_page
from people import teams
from people.access import acting
from people.access.requests import PersonRequest, made_once, own_path, person_action, person_form, posted, sensitive
from people.account import deletion
from people.account.override_form import OverrideForm
from people.models import CallOverride, Invitation, Membership, OnCall, Role, User
from people.teams import on_call as on_call_rows
from people.user_lock import lock_user
from people.web.team_forms import InvitationForm, OnCallForm, TeamForm, TurnForm


@person_form
@made_once(lambda request: redirect("people:team", teams.find_made(request.user, request.made_as).pk))
def team_list(request: PersonRequest) -> HttpResponse:
    """Teams of who is signed in, and invitations to their addresses; a POST makes a team."""
    form = TeamForm(posted(request))
    if form.is_valid():
        with shown_in(form):
            team = teams.create(request.user, form.cleaned_data["name"], request.made_as)
            acting.switch(request, teams.find_membership(request.user, team.pk))
            messages.success(request, _("The team is created, and you act for it. Invite somebody."))
            return redirect("people:team", team.pk)
    shown = {
        "form": form,
        "memberships": teams.of_person(request.user),
        "invitations": readable(teams.invitations_of(request.user))[0],
    }
    return render(request, "people/teams.html", shown)


@person_action
def switch(request: PersonRequest) -> HttpResponse:
    """Act for the posted team from now on; without one, for oneself. Then show the posted page `next`, or the list."""
    team_id = request.POST.get("team")
    if team_id is not None and not re.fullmatch("[0-9]{1,18}", team_id):
        raise Http404
    acting.switch(request, None if team_id is None else _membership(request, int(team_id)))
    return redirect(own_path(request.POST.get("next", "")) or "schedules:list")


@never_cache
@person_form
def team(request: PersonRequest, team_id: int) -> HttpResponse:
    """The members; for owners also a form that invites. The answer to its POST shows the link, once."""
    own = _membership(request, team_id)
    form = InvitationForm(posted(request))
    made, link = None, ""
    if request.method == "POST":
        acting.require_owner(own)
    if form.is_valid():
        with shown_in(form):
            made, secret = teams.invite(own, form.cleaned_data["role"], form.cleaned_data["address"])
            link = settings.BASE_URL + reverse("people:team-join", args=[secret])
            form = InvitationForm()
            if made.address:
                context = {"team": own.team.name, "by": request.user.get_short_name(), "join_url": link, "user": None}
                get_adapter(request).send_mail("people/email/team_invitation", made.address, context)
    shown = {
        "own": own,
        "members": teams.members(own.team),
        "invitations": readable(teams.open_invitations(own.team))[0] if own.is_owner else [],
        "form": form,
        "roles": Role.choices,
        "made": made,
        "link": link,
    }
    return render(request, "people/team.html", shown)


@person_action
def change_member(request: PersonRequest, team_id: int, member_id: UUID) -> HttpResponse:
    """Give a member the posted role, or remove them."""
    own, role = _owner(request, team_id), request.POST.get("role", "")
    if not teams.members(own.team).filter(id=member_id).exists():
        raise Http404
    with shown_in(request):
        if "remove" in request.POST:
            if (member := teams.remove(own, member_id)) is not None:
                text = _(
                    "%(name)s is removed. The tokens that they made for the team, and its calendar address, ended."
                )
                messages.success(request, text % {"name": member.person.get_short_name()})
        elif role not in Role.values:
            messages.error(request, _("Choose one of the roles listed."))
        else:
            teams.change_role(own, member_id, role)
            messages.success(request, _("The role is changed."))
    return redirect("people:team", team_id)


@person_action
def withdraw(request: PersonRequest, team_id: int, invitation_id: UUID) -> HttpResponse:
    own = _owner(request, team_id)
    with shown_in(request):
        if not teams.withdraw(own, invitation_id):
            raise Http404
        messages.success(request, _("The invitation is withdrawn. Its link does not work any more."))
    return redirect("people:team", team_id)


@person_form
def on_call(request: PersonRequest, team_id: int) -> HttpResponse:
    """The order of who is on call, its overrides, and who is on call in the next two weeks."""
    own, now = _membership(request, team_id), timezone.now()
    act = request.POST.get("act", "")
    of_act: dict[str, Any] = {act: request.POST}
    order = of_act.get("order")
    if request.method == "POST":
        acting.require_change(own)
    with timezone.override(own.team.zone), lock_user(own.team) if act else nullcontext():
        stored = OnCall.objects.filter(team=own.team).first() or OnCall(team=own.team, first=timezone.localdate())
        form = OnCallForm(order, instance=stored)
        members = teams.recipients(own.team_id).select_related("person").order_by("call_place", "id")
        turns = [TurnForm(order, instance=member, prefix=str(member.id)) for member in members]
        override = OverrideForm(of_act.get("override"), own.team)
        saving: dict[str, tuple[Any, str]] = {
            "order": ([form, *turns], _("The order is saved.")),
            "override": ([override], _("The change is saved.")),
        }
        forms, done = saving.get(act, ([], ""))
        if not forms and request.method == "POST":
            done = _remove_override(own.team, of_act.get("remove", {}).get("override", ""))
        if done and all_valid(forms):
            for one in forms:
                one.save()
            messages.success(request, done)
            return redirect("people:team-on-call", team_id)
        shown = {"own": own, "form": form, "turns": turns, "override": override, **_coming(own.team, now)}
        return render(request, "people/on_call.html", shown)


def _coming(team: User, now: datetime) -> dict[str, object]:
    names = {member.person_id: member.person.get_full_name() for member in teams.members(team)}
    rota = on_call_rows.rota_of(team)
    coming = on_call_rows.plan(rota, now, now + timedelta(days=14)) if rota.turns or rota.overrides else []
    return {
        "overrides": CallOverride.objects.filter(member__team=team, ends_at__gt=now),
        "coming": [(begins, [names[key] for key in people if key in names]) for begins, people in coming],
    }


def _remove_override(team: User, written: str) -> str:
    key = as_uuid(written)
    if key is None or not CallOverride.objects.filter(member__team=team, id=key).delete()[0]:
        raise Http404
    return _("The change is removed. The order applies again.")


@person_form
def leave(request: PersonRequest, team_id: int) -> HttpResponse:
    own = _membership(request, team_id)
    if request.method != "POST":
        return render(request, "people/team_leave.html", {"own": own})
    with shown_in(request):
        teams.leave(own)
        if getattr(request, "acting", None) == own:
            acting.switch(request, None)
        messages.success(request, _("You have left “%(team)s”.") % {"team": own.team.name})
        return redirect("people:teams")
    return redirect("people:team", team_id)


@person_form
def delete(request: PersonRequest, team_id: int) -> HttpResponseBase:
    """Delete the team with all that it owns, after its name was typed."""
    _owner(request, team_id)
    return _delete(request, team_id)


@sensitive
def _delete(request: PersonRequest, team_id: int) -> HttpResponseBase:
    own, form = _owner(request, team_id), TeamForm(posted(request))
    if form.is_valid():
        if form.cleaned_data["name"] != own.team.name:
            form.add_error("name", _("This is not the name of the team."))
        else:
            deletion.request(own.team)
            messages.success(request, _("The team is deleted. Its data is erased within minutes."))
            acting.switch(request, None)
            return redirect("people:teams")
    return render(request, "people/team_delete.html", {"own": own, "form": form})


@never_cache
def join(request: PersonRequest, key: str) -> HttpResponseBase:
    """Show the invitation of a link, and accept it by POST; strangers sign in or up first."""
    if not request.user.is_authenticated:
        messages.info(request, _("Sign in, or sign up, to accept the invitation."))
    return _join(request, key)


@person_form
def _join(request: PersonRequest, key: str) -> HttpResponse:

    def answer() -> HttpResponse:
        if (invitation := teams.find_invitation(request.user, key)) is None:
            return render(request, "people/invitation_unknown.html", status=404)
        if teams.find_membership(request.user, invitation.team_id) is not None:
            messages.info(request, _("You are a member already. The invitation stays valid for somebody else."))
            return redirect("people:team", invitation.team_id)
        if request.method == "POST":
            return _accept(request, invitation)
        return render(request, "people/invitation.html", {"invitation": invitation})

    return limit_page(f"join:{request.user.pk}", answer)


@person_action
def accept(request: PersonRequest, invitation_id: UUID) -> HttpResponse:
    """Accept an invitation to an address of who is signed in."""
    if (invitation := teams.invitations_of(request.user).filter(id=invitation_id).first()) is None:
        raise Http404
    return _accept(request, invitation)


def _accept(request: PersonRequest, invitation: Invitation) -> HttpResponse:
    with shown_in(request):
        teams.accept(request.user, invitation)
        acting.switch(request, teams.find_membership(request.user, invitation.team_id))
        messages.success(request, _("You are a member of “%(team)s”, and act for it.") % {"team": invitation.team.name})
        return redirect("people:team", invitation.team_id)
    return redirect("people:teams")


def _membership(request: PersonRequest, team_id: int) -> Membership:
    if (own := teams.find_membership(request.user, team_id)) is None:
        raise Http404
    return own


def _owner(request: PersonRequest, team_id: int) -> Membership:
    """The membership of an owner. For other members the page does not exist."""
    if not (own := _membership(request, team_id)).is_owner:
        raise Http404
    return own
