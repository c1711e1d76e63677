"""The page of types: who listens to each, on which queues and channels, and what waits there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import FlowSettings, Rule
from events.rules.topology import Route, TypeRoutes, topology
from notifications.models import Delivery
from people.models import User
from tests.calls import calls
from tests.db.api.conftest import Api
from tests.db.events.test_registered_types import make_type
from tests.make import NOON, happen, make_channel, make_delivery, make_rule, make_user, signed_in

PAGE = "/events/types"


def find(user: User, name: str) -> TypeRoutes:
    [found] = [one for one in topology(user) if one.name == name]
    return found


def page(browser: Client) -> str:
    return browser.get(PAGE).content.decode()


def test_a_type_leads_to_rules_and_queues_with_what_waits_and_who_pulls(ada: User) -> None:
    queue, mail = make_channel(ada, "queue", label="Orders"), make_channel(ada, "email")
    rule = make_rule(ada, conditions=[], channels=[queue, mail])
    for _ in range(3):
        happen(ada)
    api = Api(ada)
    [message] = api.post(f"/queues/{queue.id}/pull", {"batch_size": 1}).json()["items"]
    Delivery.objects.filter(channel=mail).order_by("id").first().delete()
    routes = {route.channel.label: route for route in find(ada, "order.paid").routes if route.channel}
    assert {route.rule for route in routes.values()} == {rule}
    backlog = routes["Orders"].backlog
    assert backlog is not None and backlog.oldest is not None
    assert (backlog.waiting, backlog.dead, backlog.pulled_by) == (2, 0, str(api.row))
    assert (routes[mail.label].backlog.waiting, routes[mail.label].backlog.pulled_by) == (2, None)  # type: ignore[union-attr]
    api.post(f"/queues/{queue.id}/ack", {"acks": [{"lease_id": message["lease_id"]}]})
    found = find(ada, "order.paid").routes[0].backlog
    assert found is not None and found.pulled_by == str(api.row)
    shown = page(signed_in(ada))
    assert "Orders" in shown and str(api.row) in shown and "the oldest" in shown


def test_the_oldest_that_waits_is_the_first_recorded(ada: User) -> None:
    mail = make_channel(ada, "email")
    make_rule(ada, conditions=[], channels=[mail])
    for _ in range(2):
        happen(ada)
    first, second = Delivery.objects.order_by("notification_id")
    Delivery.objects.filter(id=second.id).update(created_at=first.created_at + timedelta(hours=1))
    [route] = find(ada, "order.paid").routes
    assert route.backlog is not None and route.backlog.oldest == first.created_at


def test_a_persons_own_type_is_shown_instead_of_an_operators_of_that_name(ada: User) -> None:
    own = [make_type(user, name=name) for name, user in (("a.b", None), ("a.b", ada), ("c.d", ada), ("c.d", None))]
    assert [one.registered for one in topology(ada)] == own[1:3]


def test_dead_deliveries_are_counted(ada: User) -> None:
    mail = make_channel(ada, "email")
    make_type(ada)
    make_rule(ada, conditions=[], channels=[mail])
    make_delivery(mail, state="dead", reason="No.", settled_at=NOON)
    [route] = find(ada, "order.paid").routes
    assert route.backlog is not None and (route.backlog.waiting, route.backlog.dead) == (0, 1)


def test_a_type_to_which_nobody_listens_says_so_and_offers_a_rule(ada: User) -> None:
    make_type(ada, name="order.lost", emitted_by="the shop")
    happen(ada, type="order.seen")
    make_rule(make_user(), type_pattern="*")
    shown = page(signed_in(ada))
    assert shown.count("Nobody listens to it.") == 2
    assert "the shop" in shown
    for name in ("order.lost", "order.seen"):
        assert f'href="/rules/new/?type={name}"' in shown
    assert "/events/types/new?name=order.seen" in shown
    form = signed_in(ada).get("/rules/new/?type=order.lost").context["form"]
    assert form["type_pattern"].value() == "order.lost"


def test_a_flow_listens_for_those_who_have_switched_it_on(ada: User) -> None:
    assert "alert.raised" not in {one.name for one in topology(ada)}
    FlowSettings.objects.create(user=ada, flow="incident", settings={})
    [route] = find(ada, "alert.raised").routes
    assert (route.rule, str(route.flow)) == (None, "Incidents")


def test_rules_that_are_off_deleted_or_without_a_channel(ada: User) -> None:
    make_type(ada)
    make_rule(ada, enabled=False)
    make_rule(ada, deleted_at="2026-03-29T16:00:00Z")
    assert find(ada, "order.paid").routes == [Route()]
    rule = make_rule(ada, channels=[])
    [route] = find(ada, "order.paid").routes
    assert (route.rule, route.channel) == (rule, None)
    assert "The rule has no channel." in page(signed_in(ada))


def test_a_page_without_types_says_what_to_do(ada: User) -> None:
    shown = page(signed_in(ada))
    assert "No type yet" in shown and "/events/types/new" in shown


def test_the_page_costs_as_many_statements_for_200_types_as_for_few_and_less_than_400_000_calls(ada: User) -> None:
    browser = signed_in(ada)

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(browser)
        return len(captured)

    def grow(count: int, **overrides: Any) -> None:
        queues = [
            make_channel(ada, "queue", label=f"Queue {overrides['at']} {number}") for number in range(count // 10)
        ]
        for number in range(count):
            make_type(ada, name=f"order.p{overrides['at']}-{number}", data_schema="{}")
        for number, queue in enumerate(queues):
            make_rule(ada, conditions=[], type_pattern=f"order.p{overrides['at']}-{number}", channels=[queue])

    grow(10, at=0)
    happen(ada, type="order.p0-0")
    few = statements()
    grow(190, at=1)
    happen(ada, type="order.p1-0")
    assert (statements(), Rule.objects.count()) == (few, 20)
    assert calls(lambda: page(browser)) < 400_000  # 280,000 take 60 ms of CPU on a quiet machine


def test_types_that_only_came_are_folded_away(ada: User) -> None:
    make_type(ada)
    happen(ada, type="order.seen")
    shown = page(signed_in(ada))
    folded = shown[shown.index("<details") : shown.index("</details>")]
    assert "order.seen" in folded and "order.paid" not in folded and "1 type that came" in folded


def test_the_api_shows_where_events_go(ada: User) -> None:
    queue = make_channel(ada, "queue", label="Orders")
    kind = make_type(ada)
    rule = make_rule(ada, conditions=[], channels=[queue])
    happen(ada)
    happen(ada, type="alert.raised", data={"title": "No key."})
    api = Api(ada)
    alert, order = api.get("/event-types/topology").json()["items"]
    assert alert == {"name": "alert.raised", "event_type_id": None, "came": True, "dead": 1, "routes": []}
    [route] = order.pop("routes")
    assert order == {"name": "order.paid", "event_type_id": str(kind.id), "came": True, "dead": 0}
    assert route.pop("oldest_at") is not None
    assert route == {
        "rule_id": str(rule.id),
        "rule_name": rule.name,
        "flow": None,
        "channel_id": str(queue.id),
        "channel_label": "Orders",
        "kind": "queue",
        "waiting": 1,
        "dead": 0,
        "pulled_by": None,
    }
    FlowSettings.objects.create(user=ada, flow="incident", settings={})
    [route] = api.get("/event-types/topology").json()["items"][0]["routes"]
    assert (route["flow"], route["rule_id"], route["waiting"], route["oldest_at"]) == ("Incidents", None, 0, None)
    assert Api(make_user()).get("/event-types/topology").json()["items"] == []
