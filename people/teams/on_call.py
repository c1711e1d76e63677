"""Who is on call for a team: an order of its members with times, which moves on each week, and overrides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from common.times import civil_time
from people import quiet, teams
from people.models import CallOverride, Membership, OnCall, User


@dataclass(frozen=True, slots=True)
class Rota:
    """`turns` in the order on the first day of `order`. With `weekly`, the first of them goes to the end every seven
    days, at the wall-clock time `handover` in `zone`. An override asks its member first, whatever their times.
    """

    zone: ZoneInfo
    order: OnCall
    turns: Sequence[Membership]
    overrides: Sequence[CallOverride] = ()


def who(rota: Rota, at: datetime) -> list[int]:
    """The people to ask at the aware instant, in this order; empty where nobody is on call."""
    # Where the clock is set back, neither a handover nor the end of somebody's times is undone.
    shown = civil_time.high_water(rota.zone, at)
    day = shown.date() - timedelta(days=shown.time() < rota.order.handover)
    weeks = (day - rota.order.first).days // 7 if rota.order.weekly and rota.turns else 0
    start = weeks % max(1, len(rota.turns))
    standing = [*rota.turns[start:], *rota.turns[:start]]
    current = [one for one in rota.overrides if one.begins_at <= at < one.ends_at]
    instead = sorted(current, key=attrgetter("begins_at"))[::-1]  # of two that begin together, the last of `overrides`
    people = [one.member.person_id for one in instead]
    people += [one.person_id for one in standing if one.is_on_call_at(shown.time())]
    return list(dict.fromkeys(people))


def plan(rota: Rota, begins: datetime, ends: datetime) -> list[tuple[datetime, list[int]]]:
    """From when (UTC) which people are asked, between two aware instants."""
    changes: list[tuple[datetime, list[int]]] = []
    for edge in sorted(one.astimezone(UTC) for one in _edges(rota, begins, ends) if begins <= one < ends):
        people = who(rota, edge)
        if not changes or changes[-1][1] != people:
            changes.append((edge, people))
    return changes


def _edges(rota: Rota, begins: datetime, ends: datetime) -> Iterator[datetime]:
    """When others may be asked from, in no order, some of them outside."""
    yield begins
    for one in rota.overrides:
        yield from (one.begins_at, one.ends_at)
    edges = (clock for one in rota.turns for clock in (one.call_from, one.call_until) if clock is not None)
    clocks = {rota.order.handover, *edges}
    day = civil_time.local(rota.zone, begins).date()
    while (midnight := civil_time.begin_of(day, rota.zone)) < ends:
        yield from (civil_time.first_instant(rota.zone, datetime.combine(day, clock)) for clock in clocks)
        day = civil_time.local(rota.zone, midnight + timedelta(hours=36)).date()


@dataclass(frozen=True, slots=True)
class Shift:
    """`name` is on call from `begins` to `ends` (UTC, excluded); "" for nobody."""

    begins: datetime
    ends: datetime
    name: str
    person_id: int | None = None


def rota_of(team: User) -> Rota:
    """Without viewers: the team's reminders do not reach them. Before an order is saved, there may be overrides."""
    order = OnCall.objects.filter(team=team).first() or OnCall(team=team, first=date.min)
    members = teams.recipients(team.pk)
    turns = members.filter(call_place__isnull=False).order_by("call_place", "id")
    overrides = CallOverride.objects.select_related("member").filter(member__in=members).order_by("begins_at", "id")
    return Rota(team.zone, order, list(turns), list(overrides))


def shifts(team: User, begins: datetime, ends: datetime) -> list[Shift]:
    """The members who are asked first between two aware instants, in order; [] without one. Four statements."""
    if not ((rota := rota_of(team)).turns or rota.overrides):
        return []
    firsts = [next(group) for _, group in groupby(plan(rota, begins, ends), key=lambda shift: shift[1][:1])]
    members = Membership.objects.select_related("person").filter(team=team)
    names = {one.person_id: one.person.get_full_name() for one in members}
    edges = [*(start for start, _ in firsts[1:]), ends]
    return [
        Shift(start, end, names.get(people[0], "") if people else "", people[0] if people else None)
        for (start, people), end in zip(firsts, edges, strict=True)
    ]


def to_ask(team: User, at: datetime, urgent: bool) -> list[User]:
    """The people on call at the aware instant, in order; without those in quiet hours, unless it is urgent."""
    ids = who(rota_of(team), at)
    people = User.objects.in_bulk(ids)
    return [people[key] for key in ids if urgent or quiet.wait(at, people[key].hours) is None]


def minutes(team: User) -> int:
    """After so many without an answer, the next person is asked."""
    return OnCall.objects.values_list("minutes", flat=True).filter(team=team).first() or 10
