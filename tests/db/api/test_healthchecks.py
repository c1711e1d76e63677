"""The management API of Healthchecks, as its clients call it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from people import tokens
from people.models import User
from tests.db.watches.test_pings import ping
from tests.make import make_channel, make_user, make_watch
from watches import notices
from watches.models import Watch

pytestmark = pytest.mark.django_db


class Checks:
    """Calls `/api/v3` with a key, as `healthchecks-io` and the Terraform provider do."""

    def __init__(self, user: User, scopes: tuple[str, ...] = tuple(tokens.SCOPES)) -> None:
        self.key = tokens.create(user, "Test", scopes, None)[1]

    def __call__(self, method: str, path: str, body: Any = None) -> HttpResponse:
        raw = "" if body is None else json.dumps(body)
        path = path if path.startswith("http") else f"/api/v3/{path}"
        return Client(enforce_csrf_checks=True).generic(
            method, path, raw, content_type="application/json", headers={"X-Api-Key": self.key}
        )


@pytest.fixture
def checks(ada: User) -> Checks:
    make_channel(ada, label="Inbox")
    return Checks(ada)


def test_what_the_python_client_sends(checks: Checks) -> None:
    """healthchecks-io 0.4.4: `CheckCreate(name="Backup", tags="db night", unique=["name"])`."""
    sent = {
        "name": "Backup",
        "tags": "db night",
        "desc": "",
        "timeout": 86400,
        "grace": 3600,
        "tz": "UTC",
        "manual_resume": False,
        "methods": "",
        "unique": ["name"],
    }
    made = checks("POST", "checks/", sent)
    check = made.json()
    watch = Watch.objects.get()
    assert (made.status_code, check["status"], check["tags"]) == (201, "new", "db night")
    assert (check["ping_url"], check["uuid"]) == (watch.url, str(watch.token))
    again = checks("POST", "checks/", sent | {"grace": 600})
    assert (again.status_code, again.json()["grace"], Watch.objects.count()) == (200, 600, 1)
    again = checks("POST", "checks/", sent | {"grace": 900, "unique": ["tags"], "channels": "*"})
    assert (again.status_code, again.json()["grace"], again.json()["channels"]) == (
        200,
        900,
        f"{watch.channels.get().id}",
    )
    one = f"checks/{check['uuid']}"
    assert checks("GET", one).json() == again.json()
    assert checks("POST", one, {"desc": "Call Ada"}).json() == again.json() | {"desc": "Call Ada"}
    assert checks("POST", f"{one}/pause", {}).json()["status"] == "paused"
    assert checks("POST", f"{one}/resume").json()["status"] == "new"
    refused = checks("POST", f"{one}/resume")
    assert (refused.status_code, "not paused" in refused.json()["error"]) == (409, True)
    assert checks("DELETE", one).json()["name"] == "Backup"
    assert checks("GET", one).status_code == 404


def test_what_the_terraform_provider_sends(checks: Checks, ada: User) -> None:
    """kristofferahl/healthchecksio, by go-healthchecksio 2.1: create, read all, update, delete, and read channels."""
    phone = make_channel(ada, "webhook", label="Phone")
    channels = checks("GET", "channels/").json()["channels"]
    assert {"id": str(phone.id), "name": "Phone", "kind": "webhook"} in channels
    sent = {
        "channels": str(phone.id),
        "desc": "A nightly dump",
        "grace": 3600,
        "methods": "",
        "name": "Dump",
        "slug": "dump",
        "schedule": "0 2 * * *",
        "tags": "go terraform",
        "tz": "Europe/Berlin",
    }
    made = checks("POST", "checks/", sent).json()
    assert {name: made[name] for name in sent} == sent
    assert made["update_url"].endswith(f"/checks/{made['uuid']}") and made["pause_url"] == made["update_url"] + "/pause"
    assert checks("GET", "checks/").json() == {"checks": [made]}
    changed = checks("POST", made["update_url"], sent | {"name": "Dump 2", "channels": ""}).json()
    assert (changed["name"], changed["channels"]) == ("Dump 2", str(phone.id))
    assert checks("DELETE", made["update_url"]).status_code == 200
    assert checks("GET", "checks/").json() == {"checks": []}


def test_lists_are_filtered_by_all_tags_and_by_slug(checks: Checks, ada: User) -> None:
    make_watch(ada, [], name="One", tags=["db"], slug="one")
    make_watch(ada, [], name="Two", tags=["db", "night"])
    make_watch(make_user(), tags=["db"])

    def found(query: str) -> list[str]:
        return [check["name"] for check in checks("GET", f"checks/?{query}").json()["checks"]]

    assert found("tag=db") == ["Two", "One"]
    assert found("tag=db&tag=night") == ["Two"]
    assert found("slug=one") == ["One"]


def test_a_long_list_asks_the_database_as_often_as_a_short_one(checks: Checks, ada: User) -> None:
    running = make_watch(ada, [], name="Running")
    ping(running, "start")
    checks("GET", "checks/")  # the first call notes that the token is used
    counts = []
    for more in (0, 5):
        for _ in range(more):
            make_watch(ada, [])
        with CaptureQueriesContext(connection) as queries:
            shown = checks("GET", "checks/").json()["checks"]
        counts.append(len(queries))
        assert [one["name"] for one in shown if one["started"]] == ["Running"]
    assert counts[0] == counts[1]


def test_pings_their_output_and_flips(checks: Checks, ada: User) -> None:
    watch = make_watch(ada, [])
    ping(watch, "start")
    ping(watch, "fail", exit_code=1, output="no space", size=8)
    ping(watch)
    notices.record_due()
    one = f"checks/{watch.token}"
    pings = checks("GET", f"{one}/pings/").json()["pings"]
    assert [(each["type"], each["n"]) for each in pings] == [("success", 3), ("fail", 2), ("start", 1)]
    assert (pings[1]["duration"] >= 0, pings[0]["body_url"]) == (True, None)
    assert checks("GET", pings[1]["body_url"]).content == b"no space"
    assert checks("GET", f"{one}/pings/1/body").status_code == 404
    assert sorted(flip["up"] for flip in checks("GET", f"{one}/flips/").json()) == [0, 1]


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ({"timeout": 59}, "timeout"),
        ({"timeout": 0}, "timeout"),
        ({"grace": 0}, "grace"),
        ({"unique": ["name"]}, "name"),
        ({"timeout": "1"}, "timeout"),
        ({"schedule": "every day"}, "schedule"),
        ({"tz": "Mars/Olympus", "schedule": "0 2 * * *"}, "tz"),
        ({"methods": "POST"}, "methods"),
        ({"manual_resume": True}, "manual_resume"),
        ({"channels": "Nobody"}, "channels"),
        ({"unique": ["colour"]}, "unique"),
        ([], "(body)"),
    ],
)
def test_what_a_watch_does_not_have_is_refused_by_name(checks: Checks, sent: Any, named: str) -> None:
    refused = checks("POST", "checks/", sent)
    document = refused.json()
    assert (refused.status_code, document["status"], f" {named}" in document["error"]) == (400, 400, True), document
    assert document["errors"][0]["field"].partition(".")[0] == named
    assert not Watch.objects.exists()


@pytest.mark.parametrize("query", ["slug=%00", "tag=%00"])
def test_nul_in_a_query_is_refused(checks: Checks, query: str) -> None:
    refused = checks("GET", f"checks/?{query}")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, f"query.{query.partition('=')[0]}")


def test_another_method_is_told_which_ones_there_are(checks: Checks, ada: User) -> None:
    one = f"checks/{make_watch(ada, []).token}"
    refused, options = checks("PATCH", one), checks("OPTIONS", one)
    assert (refused.status_code, refused["Allow"]) == (405, "GET, POST, DELETE")
    checks.key = ""
    assert (options.status_code, options["Allow"]) == (204, "GET, POST, DELETE, OPTIONS")
    assert checks("OPTIONS", one).status_code == 204


def test_who_may(checks: Checks, ada: User) -> None:
    watch = make_watch(ada, [])
    reader, stranger = Checks(ada, ("read",)), Checks(make_user())
    assert reader("GET", "checks/").status_code == 200
    assert reader("POST", "checks/", {"name": "X"}).status_code == 403
    for method, end in (("GET", ""), ("POST", ""), ("DELETE", ""), ("POST", "/pause"), ("GET", "/pings/")):
        assert stranger(method, f"checks/{watch.token}{end}", {}).status_code == 404
    checks.key = "x"
    refused = checks("GET", "checks/")
    assert (refused.status_code, bool(refused.json()["error"])) == (401, True)
    assert checks("PUT", "checks/").status_code == 401
