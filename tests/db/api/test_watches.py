"""Watches over the API."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from people.models import User
from schedules.firing.fire import read_clock
from tests.db.api.conftest import Api, wrong_fields
from tests.db.watches.test_pings import ping
from tests.make import make_channel, make_user, make_watch
from watches.models import PingKey, Watch

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(ada: User) -> dict[str, Any]:
    return {"name": "Backup", "period": 86_400, "grace": 600, "channel_ids": [str(make_channel(ada).id)]}


def test_a_watch_through_its_life(api: Api, ada: User, body: dict[str, Any]) -> None:
    made = api.post("/watches", body | {"tags": ["db", "night"], "longest_run": 60})
    watch = made.json()
    path = f"/watches/{watch['id']}"
    assert (made.status_code, made["Location"], made["ETag"]) == (201, f"/api/v1{path}", '"1"')
    assert (watch["state"], watch["period"], watch["timing"], watch["expected_at"]) == ("new", 86_400, None, None)
    assert api.get(path).json() == watch
    assert api.get("/watches").json() == {"items": [watch], "next": None}
    row = Watch.objects.get()
    assert watch["ping_url"] == row.url
    ping(row, "fail", exit_code=2, output="no space left", size=13)
    ping(row)
    now = api.get(path).json()
    assert (now["state"], now["ping_count"], now["version"]) == ("up", 2, 1)
    assert row.expected_at is not None and now["deadline_at"] > now["expected_at"] > now["last_ping_at"]
    changed = api("PATCH", path, {"grace": 1200}, If_Match='"1"')
    assert (changed.json()["grace"], changed.json()["tags"], changed["ETag"]) == (1200, ["db", "night"], '"2"')
    replaced = api("PUT", path, body).json()
    assert (replaced["tags"], replaced["longest_run"], replaced["version"]) == ([], None, 3)
    assert api("PUT", path, replaced).status_code == 200  # as it was read
    paused = api.post(f"{path}/pause", {"until_ping": True}).json()
    assert (paused["state"], paused["stays_paused"], paused["expected_at"]) == ("paused", False, None)
    assert api.post(f"{path}/pause", {}).json()["stays_paused"] is True
    resumed = api.post(f"{path}/resume").json()
    assert resumed["state"] == "up" and resumed["expected_at"]
    assert api("DELETE", path).status_code == 204
    assert api.get(path).status_code == 404
    assert api.post(f"{path}/restore").json()["state"] == "up"
    assert api.post(f"{path}/restore").status_code == 404


def test_the_last_pings_are_listed_with_their_output(api: Api, ada: User) -> None:
    watch = make_watch(ada)
    ping(watch, "start")
    ping(watch, "fail", exit_code=7, output="no space left", size=200_000)
    first = api.get(f"/watches/{watch.id}/pings?limit=1").json()
    [newest] = first["items"]
    assert (newest["kind"], newest["exit_code"], newest["output"], newest["size"]) == (
        "fail",
        7,
        "no space left",
        200_000,
    )
    assert newest["seconds"] is not None
    [oldest] = api.get(f"/watches/{watch.id}/pings?cursor={first['next']}").json()["items"]
    assert (oldest["number"], oldest["kind"]) == (1, "start")


def test_it_is_expected_by_any_rule_that_a_reminder_has(api: Api, body: dict[str, Any]) -> None:
    del body["period"]
    sent = {
        "timing": {"weekly": {"days": [0], "time": "02:00"}},
        "time_zone": "Europe/Berlin",
        "ends_at": "2090-03-15T23:59",
    }
    made = api.post("/watches", body | sent | {"excluded": ["2090-01-02"]}).json()
    assert (made["timing"], made["period"], made["time_zone"]) == (sent["timing"], None, "Europe/Berlin")
    assert (made["ends_at"], made["excluded"]) == ("2090-03-15T23:59:00", ["2090-01-02"])
    path = f"/watches/{made['id']}"
    renamed = api("PATCH", path, {"name": "Dump"}).json()
    assert {name for name in made if made[name] != renamed[name]} == {"name", "version", "updated_at"}
    counted = api("PATCH", path, {"timing": {"interval": {"every": 2, "unit": "hours"}}}).json()
    moved = api("PATCH", path, {"time_zone": "UTC"}).json()
    assert moved["timing"] == counted["timing"]
    assert wrong_fields(api("PATCH", path, {"timing": None})) == ["period"]
    since = api("PATCH", path, {"period": 3600, "ends_at": None, "excluded": []}).json()
    assert (since["period"], since["timing"], since["ends_at"]) == (3600, None, None)


def test_lists_are_filtered(api: Api, ada: User) -> None:
    first, second = make_watch(ada, [], tags=["db"]), make_watch(ada, [], tags=["db", "night"])
    make_watch(make_user(), tags=["db"])
    ping(first)

    def found(query: str) -> list[str]:
        return [one["id"] for one in api.get(f"/watches?{query}").json()["items"]]

    assert found("tag=db") == [str(second.id), str(first.id)]
    assert found("tag=night") == [str(second.id)]
    assert found("state=up") == [str(first.id)]


def test_a_repeated_request_makes_one_watch(api: Api, body: dict[str, Any]) -> None:
    answers = [api.post("/watches", body, Idempotency_Key="backup") for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert Watch.objects.count() == 1


def test_a_stale_version_changes_nothing_and_gets_the_current_one(api: Api, ada: User, body: dict[str, Any]) -> None:
    path = f"/watches/{make_watch(ada, list(ada.channels.all())).id}"
    api("PATCH", path, {"name": "Theirs"})
    for method, end, sent in (
        ("PUT", "", body),
        ("PATCH", "", {"name": "Mine"}),
        ("DELETE", "", None),
        ("POST", "/pause", {}),
    ):
        refused = api(method, path + end, sent, If_Match='"1"')
        assert (refused.status_code, refused.json()["current"]["name"]) == (412, "Theirs")


def test_a_person_has_a_limited_number(api: Api, ada: User, body: dict[str, Any], settings: Settings) -> None:
    settings.MOST_WATCHES = 1
    gone = make_watch(ada, [], deleted_at="2026-06-01T12:00Z")
    assert api.post("/watches", body).status_code == 201
    for refused in (api.post("/watches", body), api.post(f"/watches/{gone.id}/restore")):
        [error] = refused.json()["errors"]
        assert (refused.status_code, error["field"], error["code"]) == (422, "(body)", "limit_reached")


def test_it_needs_the_scope_of_schedules(ada: User, body: dict[str, Any]) -> None:
    reader = Api(ada, ("read",))
    assert reader.post("/watches", body).status_code == 403
    assert reader.get("/watches").status_code == 200


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"period": None}, "period"),
        ({"period": 59}, "period"),
        ({"period": -1}, "period"),
        ({"grace": 0}, "grace"),
        ({"longest_run": 0}, "longest_run"),
        ({"timing": {"daily": {"time": "02:00"}}}, "timing"),
        ({"period": None, "timing": {"daily": {"time": "25:00"}}}, "timing.daily.time"),
        ({"period": None, "timing": {"once": {"at": "2090-01-01T09:00"}}}, "timing"),
        ({"lock": "db"}, "longest_run"),
        ({"slug": "Night"}, "slug"),
        ({"slug": "taken"}, "slug"),
        ({"failure_words": ["x" * 61]}, "failure_words"),
        ({"ignore_words": list("abcdefghijk")}, "ignore_words"),
        ({"name": ""}, "name"),
        ({"tags": ["x" * 31]}, "tags"),
        ({"opens_incident": True}, "opens_incident"),
        ({"channel_ids": []}, "channel_ids"),
        ({"colour": "red"}, "colour"),
        ({"time_zone": "Mars/Olympus", "period": None, "timing": {"daily": {"time": "02:00"}}}, "time_zone"),
    ],
)
def test_a_wrong_field_is_named(api: Api, ada: User, body: dict[str, Any], sent: dict[str, Any], field: str) -> None:
    make_watch(ada, [], slug="taken")
    assert wrong_fields(api.post("/watches", body | sent)) == [field]
    assert Watch.objects.count() == 1


def test_a_slug_gives_a_second_address(api: Api, ada: User, body: dict[str, Any]) -> None:
    make_watch(make_user(), [], slug="backup")
    made = api.post("/watches", body | {"slug": "backup"}).json()
    path = f"/watches/{made['id']}"
    assert made["slug_url"].endswith(f"/ping/{PingKey.objects.get(user=ada).key}/backup")
    assert api("PUT", path, body).json()["slug_url"] == ""
    assert api("PATCH", path, {"slug": "backup"}).json()["slug_url"] == made["slug_url"]
    api("DELETE", path)
    assert api.post("/watches", body | {"slug": "backup"}).status_code == 201
    assert api.post(f"{path}/restore").json()["slug"] == ""  # another one has it


def test_words_and_a_lock(api: Api, body: dict[str, Any]) -> None:
    given = {"lock": "db", "longest_run": 60, "success_words": ["DONE"], "failure_words": ["no space at all"]}
    made = api.post("/watches", body | given).json()
    assert made == made | given
    assert api("PATCH", f"/watches/{made['id']}", {"grace": 900}).json() == made | {
        "grace": 900,
        "version": 2,
    } | {"updated_at": api.get(f"/watches/{made['id']}").json()["updated_at"]}


def test_one_whose_rule_cannot_be_read_is_shown_and_gets_another(api: Api, ada: User) -> None:
    watch = make_watch(ada, kind="daily", period=None, rule={"time": "??"})
    path = f"/watches/{watch.id}"
    shown = api.get(path).json()
    assert (shown["timing"], shown["period"]) == (None, None)
    assert wrong_fields(api("PATCH", path, {"name": "Dump"})) == ["timing"]
    assert api("PATCH", path, {"timing": {"daily": {"time": "02:00"}}}).json()["timing"] == {"daily": {"time": "02:00"}}


def test_a_change_that_changes_nothing_makes_no_version(api: Api, body: dict[str, Any]) -> None:
    del body["period"]
    sent = {"timing": {"weekly": {"days": [0], "time": "02:00"}}, "time_zone": "Europe/Berlin", "tags": ["db"]}
    made = api.post("/watches", body | sent | {"excluded": ["2090-01-02"], "ends_at": "2090-03-15T23:59"}).json()
    path = f"/watches/{made['id']}"
    ping(Watch.objects.get())
    Watch.objects.update(deadline=read_clock().now)
    before = api.get(path).json()
    for method, again in (("PATCH", {}), ("PATCH", sent), ("PUT", before)):
        assert api(method, path, again).json() == before
    renamed = api("PATCH", path, {"name": "Dump"}).json()
    assert (renamed["version"], renamed["deadline_at"]) == (2, before["deadline_at"])


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"failure_words": ["error, fatal"]}, "comma"),
        ({"name": "\u200b\u2060"}, "invisible"),
        ({"name": "Back\u0007up"}, "control_character"),
        ({"name": "Back\nup"}, "control_character"),
        ({"description": "Call\u001b"}, "control_character"),
        ({"tags": ["d\u0007b"]}, "control_character"),
        ({"lock": "d\u0007b", "longest_run": 60}, "control_character"),
        ({"success_words": ["do\u001bne"]}, "control_character"),
        ({"failure_words": ["ok", "no\nspace"]}, "control_character"),
        ({"ignore_words": ["\u200b"]}, "invisible"),
    ],
)
def test_texts_that_no_page_could_show_are_refused(
    api: Api, body: dict[str, Any], wrong: dict[str, Any], code: str
) -> None:
    refused = api.post("/watches", body | wrong)
    assert (refused.status_code, [error["code"] for error in refused.json()["errors"]]) == (422, [code])
    assert api.post("/watches", body | {"name": "👨‍👩‍👧 Größe", "description": "One\n\tTwo"}).status_code == 201
