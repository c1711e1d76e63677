"""The rota of a team, read from its rows; `rota` decides."""

from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from people import quiet, teams
from people.models import CallOverride, Membership, OnCall, User
from people.teams import rota
from people.teams.rota import Override, Rota, Turn


@dataclass(frozen=True, slots=True)
class Shift:
    """`name` is on call from `begins` to `ends` (UTC, excluded); "" for nobody."""

    begins: datetime
    ends: datetime
    name: str
    person_id: int | None = None


def rota_of(team: User) -> Rota:
    """Without viewers: the team's reminders do not reach them. Before an order is saved, there may be overrides."""
    settings = OnCall.objects.filter(team=team).first() or OnCall(first=date.min)
    members = teams.recipients(team.pk)
    turns = members.filter(call_place__isnull=False).order_by("call_place", "id")
    overrides = CallOverride.objects.select_related("member").filter(member__in=members).order_by("begins_at", "id")
    return Rota(
        zone=team.zone,
        turns=[Turn(one.person_id, one.call_from, one.call_until) for one in turns],
        first=settings.first,
        handover=settings.handover,
        weekly=settings.weekly,
        overrides=[Override(one.member.person_id, one.begins_at, one.ends_at) for one in overrides],
    )


def shifts(team: User, begins: datetime, ends: datetime) -> list[Shift]:
    """The members who are asked first between two aware instants, in order; [] without one. Four statements."""
    if not ((order := rota_of(team)).turns or order.overrides):
        return []
    firsts = [next(group) for _, group in groupby(rota.shifts(order, begins, ends), key=lambda shift: shift[1][:1])]
    members = Membership.objects.select_related("person").filter(team=team)
    names = {one.person_id: one.person.get_full_name() for one in members}
    edges = [*(start for start, _ in firsts[1:]), ends]
    return [
        Shift(start, end, names.get(people[0], "") if people else "", people[0] if people else None)
        for (start, people), end in zip(firsts, edges, strict=True)
    ]


def to_ask(team: User, at: datetime, urgent: bool) -> list[User]:
    """The people on call at the aware instant, in order; without those in quiet hours, unless it is urgent."""
    ids = rota.who(rota_of(team), at)
    people = User.objects.in_bulk(ids)
    return [people[key] for key in ids if urgent or quiet.wait(at, people[key].hours) is None]


def minutes(team: User) -> int:
    """After so many without an answer, the next person is asked."""
    return OnCall.objects.values_list("minutes", flat=True).filter(team=team).first() or 10
