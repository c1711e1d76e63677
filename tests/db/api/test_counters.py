"""Counters over the API."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from counters import totals
from counters.models import Shard
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import make_user

pytestmark = pytest.mark.django_db


def test_what_is_added_is_read_as_a_sum(api: Api) -> None:
    assert api.post("/counters", {"name": "builds"}).json() == {"name": "builds", "value": 1}
    assert api.post("/counters", {"name": "builds", "by": 41}).json()["value"] == 42
    assert api.post("/counters", {"name": "builds", "by": -50}).json()["value"] == -8
    assert api.get("/counters/builds").json() == {"name": "builds", "value": -8}


def test_each_addition_is_one_statement_on_one_of_32_rows(ada: User) -> None:
    for number in range(totals.SHARDS):
        with patch.object(totals.random, "randrange", return_value=number), at_most(1):
            assert totals.add(ada, "builds", 2) == 2 * (number + 1)
    with patch.object(totals.random, "randrange", return_value=number):
        assert totals.add(ada, "builds", 10) == 74  # to a row that has something
    for _ in range(100):
        totals.add(ada, "builds", 1)
    assert Shard.objects.count() == totals.SHARDS
    assert totals.values(ada) == {"builds": 174}


def test_the_value_after_an_addition_is_that_of_its_person(ada: User) -> None:
    other = make_user()
    for number, user, value in ((0, other, 9), (1, ada, 9), (2, other, 18)):
        with patch.object(totals.random, "randrange", return_value=number):
            assert totals.add(user, "builds", 9) == value


def test_a_repeated_request_adds_once(api: Api) -> None:
    answers = [api.post("/counters", {"name": "builds", "by": 5}, Idempotency_Key="a").json() for _ in range(3)]
    assert answers == [{"name": "builds", "value": 5}] * 3
    assert api.get("/counters/builds").json()["value"] == 5


def test_the_list_has_those_of_the_caller_by_name(api: Api) -> None:
    for name in ("deploys", "builds", "builds"):
        api.post("/counters", {"name": name})
    Api(make_user()).post("/counters", {"name": "builds", "by": 9})
    assert api.get("/counters").json() == {
        "items": [{"name": "builds", "value": 2}, {"name": "deploys", "value": 1}],
        "next": None,
    }


def test_a_deleted_one_begins_at_0_again(api: Api) -> None:
    api.post("/counters", {"name": "builds", "by": 5})
    assert Api(make_user())("DELETE", "/counters/builds").status_code == 404
    assert api("DELETE", "/counters/builds").status_code == 204
    assert api("DELETE", "/counters/builds").status_code == 404
    assert api.get("/counters/builds").status_code == 404
    assert api.post("/counters", {"name": "builds"}).json()["value"] == 1


@pytest.mark.parametrize("by", [totals.LARGEST + 1, -totals.LARGEST - 1, 0.5, "1", None, True])
def test_what_is_wrong_is_named_and_leaves_nothing(api: Api, by: object) -> None:
    assert wrong_fields(api.post("/counters", {"name": "builds", "by": by})) == ["by"]
    assert not Shard.objects.exists()


@pytest.mark.parametrize("name", ["", "nightly builds", "a/b", "builds\n", "x" * 101, 1, None])
def test_a_name_has_letters_digits_and_dashes(api: Api, name: object) -> None:
    refused = api.post("/counters", {"name": name})
    assert wrong_fields(refused) == ["name"]
    if isinstance(name, str) and len(name) < 100:
        assert "such as nightly-builds" in refused.json()["errors"][0]["detail"]
    assert api.post("/counters", {"name": "x" * 100}).status_code == 200
    assert api.get(f"/counters/{'x' * 101}").status_code == 404


def test_it_needs_the_scope(ada: User) -> None:
    reader = Api(ada, ("read",))
    assert reader.get("/counters").status_code == 200
    assert reader.post("/counters", {"name": "builds"}).status_code == 403
    assert reader("DELETE", "/counters/builds").status_code == 403


def test_a_person_has_a_limit_of_counters_and_those_there_go_on(api: Api) -> None:
    with patch.object(totals, "_ADD", totals._ADD.replace("1000", "1")):
        api.post("/counters", {"name": "builds"})
        refused = api.post("/counters", {"name": "deploys"})
        assert (refused.status_code, "limit" in refused.json()["detail"]) == (409, True)
        assert Api(make_user()).post("/counters", {"name": "deploys"}).status_code == 200
        assert api.post("/counters", {"name": "builds"}).json()["value"] == 2


def test_large_values_are_whole_numbers(api: Api, ada: User) -> None:
    Shard.objects.create(user=ada, name="bytes", number=0, value=2**62)
    Shard.objects.create(user=ada, name="bytes", number=1, value=2**62)
    assert json.loads(api.get("/counters/bytes").content)["value"] == 2**63
