"""Types that people register: what does not fit is refused, recorded as malformed, or handled with a warning."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.intake import registered
from events.kinds.event import EVENT
from events.models import Effect, Event, RegisteredType
from events.pure import json_schema
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_inbound import make_address, post
from tests.make import happen, make_rule, make_user, signed_in
from work.engine import runner


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["order_id"],
    "properties": {"order_id": {"type": "integer"}, "amount": {"type": "number"}},
}
PAID = {"type": "order.paid", "data": {"order_id": 7}}
WRONG = {"type": "order.paid", "data": {"order_id": "seven"}}


def make_type(user: User | None, **overrides: Any) -> RegisteredType:
    fields: dict[str, Any] = {"user": user, "name": "order.paid", "data_schema": json.dumps(SCHEMA)}
    return RegisteredType.objects.create(**fields | overrides)


def make_staff() -> User:
    staff = make_user(is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="add_registeredtype"))
    return staff


def codes(answer: Any) -> dict[str, str]:
    return {one["field"]: one["code"] for one in answer.json()["errors"]}


def statements(call: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        call()
    return len(captured)


def test_the_api_refuses_what_does_not_fit_with_path_code_and_remedy(api: Api, ada: User) -> None:
    make_type(ada)
    answer = api.post("/events", WRONG)
    assert (answer.status_code, codes(answer)) == (422, {"data.order_id": "schema_type"})
    [error] = answer.json()["errors"]
    assert "must be a whole number" in error["detail"] and "order.paid" in error["detail"]
    answer = api.post("/events", [PAID, WRONG, {"type": "order.paid"}, {"type": "other.thing"}])
    assert codes(answer) == {"1.data.order_id": "schema_type", "2.data": "schema_required"}
    assert not Event.objects.exists()
    assert api.post("/events", [PAID, {"type": "other.thing"}]).status_code == 202


def test_an_inbound_webhook_that_does_not_fit_is_recorded_as_malformed(ada: User) -> None:
    make_type(ada)
    make_rule(ada, conditions=[])
    make_address(ada, fields={"type": "body.type"})
    assert post({"type": "order.paid", "order_id": "seven"}).status_code == 202
    event = Event.objects.get()
    runner.run(EVENT, event.id, "worker")
    event.refresh_from_db()
    assert (event.state, event.reason_code, event.reason_params["field"]) == ("dead", "unfit", "data.order_id")
    assert not Effect.objects.exists()


def test_a_dead_event_is_handled_after_its_type_was_corrected(ada: User) -> None:
    type = make_type(ada)
    event = happen(ada, data={"order_id": "seven"})
    assert event.state == "dead"
    RegisteredType.objects.filter(id=type.id).update(data_schema="{}", version=2)
    signed_in(ada).post(f"/events/{event.key}/replay")
    runner.run(EVENT, event.id, "worker")
    event.refresh_from_db()
    assert event.state == "handled"


def test_by_choice_it_is_handled_and_shows_a_warning(api: Api, ada: User) -> None:
    make_type(ada, on_misfit="warn")
    make_rule(ada, conditions=[])
    key = api.post("/events", WRONG).json()["items"][0]["id"]
    event = Event.objects.get()
    runner.run(EVENT, event.id, "worker")
    found = api.get(f"/events/{key}").json()
    assert (found["state"], found["reason"]["code"], len(found["effects"])) == ("handled", "unfit", 1)
    for page in ("/events/", f"/events/{event.id}"):
        assert "Its data does not fit its type: data.order_id" in signed_in(ada).get(page).content.decode()


def test_what_an_operator_registers_holds_for_everybody_without_their_own(ada: User) -> None:
    bob = make_user()
    make_type(None)
    assert {Api(user).post("/events", WRONG).status_code for user in (ada, bob)} == {422}
    make_type(bob, data_schema="{}")
    assert [Api(user).post("/events", WRONG).status_code for user in (ada, bob)] == [422, 202]
    assert (happen(ada, data={}).state, happen(bob, data={}).state) == ("dead", "handled")


def test_nobody_sees_or_meets_the_types_of_others(ada: User, api: Api) -> None:
    theirs = make_type(make_user())
    assert api.get("/event-types").json()["items"] == []
    assert api.get(f"/event-types/{theirs.id}").status_code == 404
    assert signed_in(ada).get(f"/events/types/{theirs.id}").status_code == 404
    assert api.post("/events", WRONG).status_code == 202


def test_a_change_holds_at_once_in_processes_that_know_the_version_before(api: Api, ada: User) -> None:
    type = make_type(ada)
    assert api.post("/events", WRONG).status_code == 422
    assert api("PATCH", f"/event-types/{type.id}", {"data_schema": {}}).status_code == 200
    assert api.post("/events", WRONG).status_code == 202
    assert api("PATCH", f"/event-types/{type.id}", {"data_schema": SCHEMA}).status_code == 200
    assert api.post("/events", WRONG).status_code == 422


def test_a_schema_that_sql_has_damaged_stops_no_event(api: Api, ada: User) -> None:
    type = make_type(ada, data_schema="{")
    assert api.post("/events", WRONG).status_code == 202
    assert happen(ada, data={}).state == "handled"
    assert api.get(f"/event-types/{type.id}").json()["data_schema"] == {}


def test_types_cost_no_statement_but_one_to_load_them(api: Api, ada: User) -> None:
    def publish(count: int) -> int:
        return statements(lambda: api.post("/events", [{"type": f"order.p{n}", "data": {}} for n in range(count)]))

    def handle() -> int:
        event = Event.objects.filter(state="pending").latest("id")
        return statements(lambda: runner.run(EVENT, event.id, "worker"))

    publish(1)
    without, handled = publish(100), handle()
    for number in range(100):
        make_type(ada, name=f"order.p{number}", data_schema="{}")
    registered._ready.clear()
    assert publish(100) == without + 1
    assert publish(100) == without
    assert handle() == handled
    registered._ready.clear()
    assert handle() == handled + 1


def test_a_process_keeps_few_schemas_ready(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_MOST_READY", 2)
    monkeypatch.setattr(registered, "_ready", {})
    kept = []
    for number in range(5):
        make_type(ada, name=f"order.p{number}", data_schema="{}")
        happen(ada, type=f"order.p{number}")
        kept.append(len(registered._ready))
    assert max(kept) == 2


def test_a_type_is_made_changed_and_deleted_on_its_pages(browser: Client, ada: User) -> None:
    fields = {"name": "order.paid", "data_schema": json.dumps(SCHEMA), "on_misfit": "warn", "emitted_by": "the shop"}
    assert browser.post("/events/types/new", fields).status_code == 302
    type = RegisteredType.objects.get(user=ada)
    page = browser.get(f"/events/types/{type.id}").content.decode()
    assert "the shop" in page and "order_id" in page
    assert "the shop" in browser.get("/events/types").content.decode()
    browser.post(f"/events/types/{type.id}/edit", fields | {"name": "other.name", "on_misfit": "refuse"})
    type.refresh_from_db()
    assert (type.name, type.on_misfit, type.version) == ("order.paid", "refuse", 2)
    assert "Delete order.paid?" in browser.get(f"/events/types/{type.id}/delete").content.decode()
    assert browser.post(f"/events/types/{type.id}/delete").status_code == 302
    assert not RegisteredType.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "Order Paid"}, "name"),
        ({"name": "alert.raised"}, "name"),
        ({"name": "step.done"}, "name"),
        ({"data_schema": "{"}, "data_schema"),
        ({"data_schema": '{"properties": {"a": {"type": "text"}}}'}, "data_schema"),
        ({"on_misfit": "ignore"}, "on_misfit"),
        ({"summary": "x" * 201}, "summary"),
    ],
)
def test_a_wrong_field_says_so_and_keeps_what_was_typed(browser: Client, fields: dict[str, str], field: str) -> None:
    answer = browser.post("/events/types/new", {"name": "a.b", "data_schema": "{}", "on_misfit": "warn"} | fields)
    assert answer.status_code == 200 and set(answer.context["form"].errors) == {field}
    assert not RegisteredType.objects.exists()


def test_the_errors_of_a_schema_name_their_paths(browser: Client) -> None:
    schema = '{"properties": {"a": {"type": "text"}, "b": {"minLength": -1}}}'
    form = browser.post("/events/types/new", {"name": "a.b", "data_schema": schema}).context["form"]
    said = form.errors["data_schema"]
    assert [one.partition(":")[0] for one in said] == ["properties.a.type", "properties.b.minLength"]


def test_an_edit_overwrites_no_change_that_its_editor_has_not_seen(browser: Client, ada: User) -> None:
    page = f"/events/types/{make_type(ada).id}/edit"
    mine = {"data_schema": "{}", "on_misfit": "warn", "version": 1}
    browser.post(page, mine | {"summary": "Theirs"})
    answer = browser.post(page, mine | {"summary": "Mine"})
    assert (answer.status_code, RegisteredType.objects.get().summary) == (409, "Theirs")
    assert browser.post(page, mine | {"summary": "Mine", "version": 2}).status_code == 302


def test_only_staff_with_the_permission_register_for_everybody(ada: User) -> None:
    fields = {"name": "order.paid", "data_schema": "{}", "on_misfit": "warn", "is_for_everybody": "on"}
    signed_in(ada).post("/events/types/new", fields)
    assert RegisteredType.objects.get().user == ada
    staff = make_staff()
    signed_in(staff).post("/events/types/new", fields)
    shared = RegisteredType.objects.get(user=None)
    assert signed_in(ada).get(f"/events/types/{shared.id}").status_code == 200
    for act in ("edit", "delete"):
        assert signed_in(ada).post(f"/events/types/{shared.id}/{act}", fields).status_code == 404
    assert signed_in(staff).post(f"/events/types/{shared.id}/edit", fields | {"summary": "New"}).status_code == 302


def test_a_type_is_registered_once_and_so_many_at_most(api: Api, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"name": "order.paid", "data_schema": {}}
    assert [api.post("/event-types", body).status_code for _ in range(2)] == [201, 409]
    monkeypatch.setattr("events.inputs.type_form.MOST", 1)
    assert api.post("/event-types", body | {"name": "other.type"}).status_code == 409


def test_the_api_registers_reads_changes_lists_and_deletes(api: Api, ada: User) -> None:
    made = api.post("/event-types", {"name": "order.paid", "data_schema": SCHEMA, "emitted_by": "shop"})
    assert (made.status_code, made["ETag"]) == (201, '"1"')
    found = made.json()
    assert made["Location"] == f"/api/v1/event-types/{found['id']}"
    assert (found["data_schema"], found["on_misfit"], found["is_for_everybody"]) == (SCHEMA, "refuse", False)
    path = f"/event-types/{found['id']}"
    assert api.get("/event-types").json()["items"] == [found]
    assert api("PATCH", path, found).json() == found  # as it was read
    changed = api("PATCH", path, {"on_misfit": "warn"}, If_Match='"1"')
    assert changed.json() == found | {"on_misfit": "warn", "version": 2}
    assert api("PATCH", path, {"on_misfit": "refuse"}, If_Match='"1"').status_code == 412
    assert codes(api("PATCH", path, {"name": "a.b"})) == {"name": "read_only"}
    assert api("DELETE", path).status_code == 204
    assert api.get(path).status_code == 404


def test_the_api_takes_no_type_for_everybody_but_of_staff(api: Api) -> None:
    body = {"name": "order.paid", "data_schema": {}, "is_for_everybody": True}
    refused = api.post("/event-types", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "for-everybody")
    shared = make_type(None)
    assert api("DELETE", f"/event-types/{shared.id}").status_code == 403
    assert api.get("/event-types").json()["items"][0]["is_for_everybody"] is True
    staff = Api(make_staff())
    assert staff("DELETE", f"/event-types/{shared.id}").status_code == 204
    assert staff.post("/event-types", body).json()["is_for_everybody"] is True


def test_a_refused_schema_is_a_422_at_its_field(api: Api) -> None:
    answer = api.post("/event-types", {"name": "a.b", "data_schema": {"properties": {"a": {"type": "text"}}}})
    assert codes(answer) == {"data_schema": "schema"}
    assert answer.json()["errors"][0]["detail"].startswith("properties.a.type: ")


@pytest.mark.parametrize("on_misfit", ["refuse", "warn"])
def test_a_schema_that_has_cost_too_much_gets_little_for_a_minute(
    ada: User, monkeypatch: pytest.MonkeyPatch, on_misfit: str
) -> None:
    def code(data: dict[str, Any]) -> str:
        if on_misfit == "warn":
            return happen(ada, data=data).reason
        answer = Api(ada).post("/events", {"type": "order.paid", "data": data})
        return str(answer.json().get("errors", ""))

    schema = {"properties": {"items": {"items": {"properties": {"a": {"type": "integer"}}}}}}
    type = make_type(ada, data_schema=json.dumps(schema), on_misfit=on_misfit)
    monkeypatch.setattr(registered, "_costly", {})
    small = Mock(wraps=json_schema.small_budget)
    monkeypatch.setattr(json_schema, "small_budget", small)
    monkeypatch.setattr(json_schema, "_SECONDS_SMALL", 60.0)
    monkeypatch.setattr(json_schema, "_SECONDS", 60.0)
    monkeypatch.setattr(json_schema, "_SECONDS_HANDLING", 60.0)
    monkeypatch.setattr(json_schema, "_MOST_ITEMS", 500)
    assert code({"items": []}) == ""
    assert not registered._costly
    assert "costs too much" in code({"items": [{"a": 1}] * 500})
    assert list(registered._costly) == [(type.id, 1)]
    small.reset_mock()
    assert code({"items": [{"a": 1}]}) == ""  # what costs little still fits
    small.assert_called()
    # A corrected schema, or a minute later: as before.
    monkeypatch.setitem(registered._costly, (type.id, 1), 0.0)
    assert not registered._is_costly(registered.Registered(type.id, 1, True))
    assert not registered._is_costly(registered.Registered(type.id, 2, True))


def test_a_wrong_choice_names_the_choices(api: Api) -> None:
    answer = api.post("/event-types", {"name": "order.paid", "data_schema": {}, "on_misfit": "ignore"})
    [error] = answer.json()["errors"]
    assert (error["field"], error["detail"]) == ("on_misfit", "Choose “refuse” or “warn”.")
