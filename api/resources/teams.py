"""Teams: their members, and who is on call."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils import timezone
from ninja import Router
from pydantic import BaseModel, Field

from api.protocol import paging
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer, documents, fields_of, of
from api.protocol.fields import FormBody, Instant, one_of
from api.protocol.problems import of_status, require_valid
from people import teams
from people.account.override_form import OverrideForm
from people.models import CallOverride, Membership, Role
from people.teams import on_call
from people.user_lock import lock_user

router = Router(tags=["teams"], auth=Bearer("schedules"))

_AHEAD = timedelta(days=14)
RoleName = Annotated[str, one_of(Role.values)]


class TeamDocument(BaseModel):
    id: int = of("team_id", "The number of its account.")
    name: str = of("team.name", "As pages call it.")
    role: RoleName = Field(description="Yours, or of the member who made this token of the team.")


class TeamMember(BaseModel):
    id: UUID = Field(description="Of the membership.")
    name: str = of(lambda one: one.person.get_full_name(), "As pages call this person.")
    role: RoleName = Field(description="What they may do.")
    call_place: int | None = Field(description="The place in the order of who is on call; null: never.")
    call_from: str | None = Field(description="From when, on the team’s clock; null: at any time.")
    call_until: str | None = Field(description="Until when.")


class CallShift(BaseModel):
    begins_at: Instant = of("begins", "When they begin; of the first one, now.")
    ends_at: Instant = of("ends", "When somebody else is asked first.")
    member_id: UUID | None = Field(description="Who is asked first; null: nobody.")
    name: str = Field(description="Their name; empty: nobody.")


class OverrideBody(FormBody):
    member_id: str = Field(description="Who is asked first, whatever their times.")
    begins_at: Instant = Field(description="From when.")
    ends_at: Instant = Field(description="Until when, at most two years ahead.")


class OverrideDocument(BaseModel):
    id: UUID = Field(description="Of this change.")
    member_id: UUID = Field(description="Who is asked first, whatever their times.")
    begins_at: Instant = Field(description="From when.")
    ends_at: Instant = Field(description="Until when.")


class TeamDetail(TeamDocument):
    """`on_call` begins with who is on call now, then the next ones, for two weeks; empty without an order."""

    time_zone: str = of("team.zone.key", "The clock of the times in the order.")
    members: list[TeamMember] = Field(description="In the order in which they joined.")
    on_call: list[CallShift] = Field(description="Who is asked first.")
    overrides: list[OverrideDocument] = Field(description="Changes of the order that have not ended.")


@router.get("", response=paging.Page[TeamDocument], summary="List your teams")
def list_teams(request: ApiRequest) -> HttpResponse:
    """Those in which you are a member, on one page; for a token of a team, this team."""
    user = request.auth.user
    own = [user.acting] if user.acting is not None else teams.of_person(user).order_by("team_id")
    return paging.answer_all(documents(TeamDocument, own))


@router.get("/{int:team_id}", response=TeamDetail, summary="Read a team and who is on call")
def read_team(request: ApiRequest, team_id: int) -> HttpResponse:
    """Its members, who is on call now and next, and the changes of the order."""
    own = _own(request, team_id)
    now = timezone.now()
    members = list(teams.members(own.team).order_by("id"))
    ids = {one.person_id: one.id for one in members}
    changes = CallOverride.objects.filter(member__team=own.team, ends_at__gt=now).order_by("begins_at", "id")
    return answer(
        fields_of(
            TeamDetail,
            own,
            members=documents(TeamMember, members),
            on_call=[
                fields_of(CallShift, one, member_id=ids.get(one.person_id or 0))
                for one in on_call.shifts(own.team, now, now + _AHEAD)
            ],
            overrides=documents(OverrideDocument, changes),
        )
    )


@router.post("/{int:team_id}/overrides", response={201: OverrideDocument}, summary="Put somebody on call for a while")
def create_override(request: ApiRequest, team_id: int, body: OverrideBody) -> HttpResponse:
    """Owners and members of the team may. Only members can be put on call."""
    own = _own(request, team_id, changes=True)
    with lock_user(own.team):
        form = OverrideForm({"member": body.member_id, "begins_at": body.begins_at, "ends_at": body.ends_at}, own.team)
        require_valid(body, form, called=lambda name: "member_id" if name == "member" else name)
        made = form.save()
    return answer(fields_of(OverrideDocument, made), 201)


@router.delete(
    "/{int:team_id}/overrides/{uuid:override_id}", response={204: None}, summary="Remove a change of who is on call"
)
def delete_override(request: ApiRequest, team_id: int, override_id: UUID) -> None:
    """The order applies again."""
    own = _own(request, team_id, changes=True)
    if not CallOverride.objects.filter(member__team=own.team, id=override_id).delete()[0]:
        raise Http404


def _own(request: ApiRequest, team_id: int, *, changes: bool = False) -> Membership:
    """The caller's membership. A stranger finds no team (404); a viewer changes nothing (403)."""
    user = request.auth.user
    own = teams.find_membership(user, team_id) if user.acting is None else user.acting
    if own is None or own.team_id != team_id:
        raise Http404
    if changes and not own.may_change:
        raise of_status(403, "Viewers of a team change nothing. Ask an owner for another role.")
    return own
