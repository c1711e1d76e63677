"""The destinations of events: listeners of each type, their queues and channels, and what waits there."""

from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count

from common.texts.types import StrOrPromise
from events import flows
from events.models import Event, FlowSettings, RegisteredType, Rule
from events.pure import types
from events.pure.matching import fits_pattern
from events.rules.preview import types_seen
from notifications.deliveries import backlog
from notifications.deliveries.backlog import Backlog
from notifications.models import Channel
from people.models import ApiToken, User


class Route(NamedTuple):
    """To a rule and one of its channels, if any, with what waits there; or to a flow, by its label; or to nobody."""

    rule: Rule | None = None
    flow: StrOrPromise = ""
    channel: Channel | None = None
    backlog: Backlog | None = None


class TypeRoutes(NamedTuple):
    """`builtin` is Carillon's own description of the type, `registered` a person's or an operator's. `dead` counts its
    events that are dead letters."""

    name: str
    builtin: types.EventType | None
    registered: RegisteredType | None
    is_seen: bool
    dead: int
    routes: list[Route]

    @property
    def is_heard(self) -> bool:
        return self.routes != [Route()]

    @property
    def only_came(self) -> bool:
        return not (self.registered or self.builtin or self.is_heard or self.dead)


def topology(user: User) -> list[TypeRoutes]:
    """By name: the types that are registered, came lately, have dead events or a listener.

    The statements do not grow with them.
    """
    own_last = sorted(
        RegisteredType.objects.for_user(user).defer("data_schema"), key=lambda type: not type.is_for_everybody
    )
    registered = {type.name: type for type in own_last}
    seen = set(types_seen(user))
    dead = dict(Event.objects.for_user(user).dead().order_by().values_list("type").annotate(Count("pk")))
    rules = list(Rule.objects.for_user(user).filter(enabled=True).order_by("id").with_channels())
    handlers = flows_of(user)
    backlogs = _backlogs(user, {channel.id for rule in rules for channel in rule.channels.all()})
    named = {rule.type_pattern for rule in rules if "*" not in rule.type_pattern}
    names = {*registered, *seen, *dead, *named, *handlers} - {*types.TO_RUNS}
    routes_of = {
        rule.id: [Route(rule, channel=one, backlog=backlogs.get(one.id)) for one in rule.ordered_channels()]
        or [Route(rule)]
        for rule in rules
    }

    def routes_to(name: str) -> list[Route]:
        to_rules = [route for rule in rules if fits_pattern(rule.type_pattern, name) for route in routes_of[rule.id]]
        return to_rules + [Route(flow=label) for label in handlers.get(name, ())] or [Route()]

    return [
        TypeRoutes(name, types.TYPES.get(name), registered.get(name), name in seen, dead.get(name, 0), routes_to(name))
        for name in sorted(names)
    ]


def flows_of(user: User) -> dict[str, list[StrOrPromise]]:
    """The labels of the flows that handle events of this person, by type."""
    on = set(FlowSettings.objects.filter(user=user, enabled=True).values_list("flow", flat=True))
    handlers: dict[str, list[StrOrPromise]] = {}
    for flow in flows.all():
        for type, step in flow.handlers:
            if not step and (flow.Settings is None or flow.name in on):
                handlers.setdefault(type, []).append(flow.label or flow.name)
    return handlers


def _backlogs(user: User, channel_ids: set[UUID]) -> dict[UUID, Backlog]:
    """With the names of the tokens that pull."""
    tokens = {f"token {one.prefix}": str(one) for one in ApiToken.objects.filter(user=user)}
    result = backlog.of_channels(channel_ids).items()
    return {key: replace(one, pulled_by=tokens.get(one.pulled_by, one.pulled_by)) for key, one in result}
