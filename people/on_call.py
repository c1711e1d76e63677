"""Who is on call for a team, from its rows; `rota` decides."""

from datetime import datetime

from people import quiet, rota
from people.models import CallOverride, Membership, OnCall, User
from people.rota import Override, Rota, Turn


def rota_of(team: User) -> Rota | None:
    """None where the team has no order yet."""
    if (settings := OnCall.objects.filter(team=team).first()) is None:
        return None
    turns = Membership.objects.filter(team=team, call_place__isnull=False, person__is_active=True)
    overrides = CallOverride.objects.select_related("member").filter(member__team=team, member__person__is_active=True)
    return Rota(
        zone=team.zone,
        turns=[Turn(one.person_id, one.call_from, one.call_until) for one in turns.order_by("call_place", "id")],
        first=settings.first,
        handover=settings.handover,
        weekly=settings.weekly,
        overrides=[Override(one.member.person_id, one.begins_at, one.ends_at) for one in overrides],
    )


def to_ask(team: User, at: datetime, urgent: bool) -> list[User]:
    """The people on call at the aware instant, in order; without those in quiet hours, unless it is urgent."""
    if (order := rota_of(team)) is None:
        return []
    ids = rota.who(order, at)
    people = User.objects.in_bulk(ids)
    return [people[key] for key in ids if urgent or quiet.wait(at, quiet.of(people[key])) is None]


def minutes(team: User) -> int:
    """After so many without an answer, the next person is asked."""
    return OnCall.objects.values_list("minutes", flat=True).filter(team=team).first() or 10
