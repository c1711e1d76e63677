"""Locks over the API."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import patch

import pytest
from django.db.models import F
from django.utils import timezone

from api import tasks
from locks import leases
from locks.models import Lock
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import make_user

pytestmark = pytest.mark.django_db

BACKUP = {"name": "backup"}


def run_out() -> None:
    Lock.objects.update(expires_at=F("expires_at") - timedelta(days=1))


def test_one_has_it_until_it_is_released(api: Api) -> None:
    first = api.post("/locks/acquire", BACKUP | {"ttl": 60, "holder": "host 7"}).json()
    assert (first["acquired"], first["ttl"]) == (True, 60)
    second = api.post("/locks/acquire", BACKUP).json()
    assert (second["acquired"], second["holder"], second.get("token")) == (False, "host 7", None)
    assert 55_000 < second["wait_ms"] <= 60_000
    assert api.post("/locks/release", BACKUP | {"token": first["token"]}).status_code == 204
    third = api.post("/locks/acquire", BACKUP).json()
    assert third["acquired"]
    assert third["fence"] > first["fence"]
    assert first["token"] not in str(list(Lock.objects.values()))


def test_a_taken_lock_says_who_has_it_by_the_token_of_the_api(api: Api) -> None:
    api.post("/locks/acquire", BACKUP)
    assert api.post("/locks/acquire", BACKUP).json()["holder"] == "Test"


def test_only_its_token_renews_and_releases_it(api: Api) -> None:
    mine = api.post("/locks/acquire", BACKUP).json()
    other = api.post("/locks/acquire", {"name": "report"}).json()
    for path in ("/locks/renew", "/locks/release"):
        refused = api.post(path, BACKUP | {"token": other["token"]})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert api.post(path, {"name": "unknown", "token": mine["token"]}).status_code == 409
    before = Lock.objects.get(name="backup").expires_at
    renewed = api.post("/locks/renew", BACKUP | {"token": mine["token"], "ttl": 600}).json()
    assert renewed == {"fence": mine["fence"], "ttl": 600}
    assert Lock.objects.get(name="backup").expires_at > before + timedelta(minutes=9)


def test_when_its_time_is_over_it_is_lost(api: Api) -> None:
    late = api.post("/locks/acquire", BACKUP).json()
    run_out()
    assert api.post("/locks/renew", BACKUP | {"token": late["token"]}).status_code == 409
    new = api.post("/locks/acquire", BACKUP).json()
    assert new["fence"] > late["fence"]
    assert api.post("/locks/release", BACKUP | {"token": late["token"]}).status_code == 409
    assert not api.post("/locks/acquire", BACKUP).json()["acquired"]


def test_locks_are_of_one_person(api: Api) -> None:
    mine = api.post("/locks/acquire", BACKUP).json()
    other = Api(make_user())
    assert other.post("/locks/acquire", BACKUP).json()["acquired"]
    assert other.post("/locks/release", BACKUP | {"token": mine["token"]}).status_code == 409


def test_the_list_has_those_that_are_held(api: Api) -> None:
    api.post("/locks/acquire", {"name": "old"})
    run_out()
    api.post("/locks/acquire", BACKUP | {"holder": "host 7"})
    Api(make_user()).post("/locks/acquire", {"name": "strange"})
    [only] = api.get("/locks").json()["items"]
    assert (only["name"], only["holder"]) == ("backup", "host 7")


def test_a_repeated_request_gets_the_same_lock(api: Api) -> None:
    first = api.post("/locks/acquire", BACKUP, Idempotency_Key="a")
    again = api.post("/locks/acquire", BACKUP, Idempotency_Key="a")
    assert again.json() == first.json()
    assert Lock.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "", "ttl": 5}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a", "ttl": 0}, "ttl"),
        ({"name": "a", "ttl": -5}, "ttl"),
        ({"name": "a", "ttl": 86_401}, "ttl"),
        ({"name": "a", "ttl": "30"}, "ttl"),
        ({"ttl": 30}, "name"),
        ({"name": "a", "holder": "x" * 101}, "holder"),
        ({"name": "a", "holder": "db\u001b[31m"}, "holder"),
        ({"name": "a", "holder": "db\n1"}, "holder"),
        ({"name": "back\u0007up"}, "name"),
        ({"name": "\u200b"}, "name"),
    ],
)
def test_what_is_wrong_is_named_and_leaves_nothing(api: Api, body: dict[str, object], field: str) -> None:
    assert wrong_fields(api.post("/locks/acquire", body)) == [field]
    assert not Lock.objects.exists()


def test_it_needs_the_scope(ada: User) -> None:
    reader = Api(ada, ("read",))
    assert reader.get("/locks").status_code == 200
    assert reader.post("/locks/acquire", BACKUP).status_code == 403


def test_a_person_has_a_limit_of_names_and_those_there_go_on(api: Api) -> None:
    with patch.object(leases, "_ACQUIRE", leases._ACQUIRE.replace("1000", "1", 2).replace("< 1000", "< 1")):
        first = api.post("/locks/acquire", BACKUP).json()
        refused = api.post("/locks/acquire", {"name": "second"})
        assert (refused.status_code, "limit" in refused.json()["detail"]) == (409, True)
        assert Api(make_user()).post("/locks/acquire", {"name": "second"}).json()["acquired"]
        api.post("/locks/release", BACKUP | {"token": first["token"]})
        assert api.post("/locks/acquire", BACKUP).json()["acquired"]


def test_it_is_forgotten_a_month_after_its_last_lease_and_its_fence_grows(ada: User) -> None:
    held = leases.acquire(ada, "backup", 30)
    Lock.objects.update(expires_at=timezone.now() - timedelta(days=29))
    assert tasks.forget_answers() == 0
    Lock.objects.update(expires_at=timezone.now() - timedelta(days=31))
    assert tasks.forget_answers() == 1
    again = leases.acquire(ada, "backup", 30)
    assert isinstance(held, leases.Lease)
    assert isinstance(again, leases.Lease)
    assert again.fence > held.fence


def test_the_fence_grows_at_each_lease_however_soon_it_follows(ada: User) -> None:
    """As within one millisecond, or after a clock was set back."""
    leases.acquire(ada, "backup", 30)
    Lock.objects.update(fence=F("fence") + 10**9, expires_at=timezone.now())
    before = Lock.objects.get().fence
    again = leases.acquire(ada, "backup", 30)
    assert isinstance(again, leases.Lease)
    assert again.fence == before + 1


def test_statements(ada: User) -> None:
    with at_most(1):
        leases.acquire(ada, "backup", 30)
    with at_most(2):
        leases.acquire(ada, "backup", 30)


def test_a_blank_name_is_refused(api: Api) -> None:
    for name in ("", " ", "\t\n", "\u3000"):
        assert wrong_fields(api.post("/locks/acquire", {"name": name})) == ["name"]
    assert not Lock.objects.exists()
