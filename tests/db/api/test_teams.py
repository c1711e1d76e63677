"""Teams and who is on call over the API, by role."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from people import teams
from people.models import CallOverride, Membership, OnCall, User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import make_user

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def team(ada: User) -> User:
    team = teams.create(ada, "Night watch")
    OnCall.objects.create(team=team, first=date(2026, 1, 5), weekly=False)
    Membership.objects.update(call_place=1)
    return team


def join(team: User, role: str) -> Api:
    person = make_user(name=role.title())
    Membership.objects.create(team=team, person=person, role=role, call_place=2)
    return Api(person, ("read", "schedules"))


def own(team: User) -> User:
    """The team, for which its owner acts."""
    membership = teams.find_membership(Membership.objects.get(team=team, role="owner").person, team.pk)
    assert membership is not None
    return membership.team


def override(team: User, **fields: Any) -> dict[str, Any]:
    member = Membership.objects.filter(team=team).latest("id")
    times = {"begins_at": f"{NOW - timedelta(hours=1):%FT%TZ}", "ends_at": f"{NOW + timedelta(hours=2):%FT%TZ}"}
    return {"member_id": str(member.id)} | times | fields


def test_a_member_reads_the_members_and_who_is_on_call_now_and_next(api: Api, team: User) -> None:
    bob = join(team, "member")
    made = bob("POST", f"/teams/{team.pk}/overrides", override(team))
    assert made.status_code == 201, made.content
    assert bob.get("/teams").json()["items"] == [{"id": team.pk, "name": "Night watch", "role": "member"}]
    with at_most(9):
        read = api.get(f"/teams/{team.pk}").json()
    assert (read["role"], [one["role"] for one in read["members"]]) == ("owner", ["owner", "member"])
    assert [one["name"] for one in read["on_call"]] == ["Member", "Ada"]
    assert read["on_call"][0]["member_id"] == read["members"][1]["id"]
    assert read["on_call"][1]["begins_at"] == made.json()["ends_at"]
    assert read["overrides"] == [made.json()]
    ended = {"begins_at": NOW - timedelta(days=2), "ends_at": NOW - timedelta(days=1)}
    CallOverride.objects.create(member_id=read["members"][0]["id"], **ended)
    assert bob.get(f"/teams/{team.pk}").json()["overrides"] == [made.json()]
    elsewhere = teams.create(User.objects.get(name="Member"), "Elsewhere")
    assert bob("DELETE", f"/teams/{elsewhere.pk}/overrides/{made.json()['id']}").status_code == 404
    assert Api(own(team)).get(f"/teams/{elsewhere.pk}").status_code == 404
    assert bob("DELETE", f"/teams/{team.pk}/overrides/{made.json()['id']}").status_code == 204
    assert [one["name"] for one in api.get(f"/teams/{team.pk}").json()["on_call"]] == ["Ada"]


def test_a_viewer_reads_and_is_refused_with_words(team: User) -> None:
    viewer = join(team, "viewer")
    assert viewer.get(f"/teams/{team.pk}").status_code == 200
    refused = viewer("POST", f"/teams/{team.pk}/overrides", override(team))
    assert (refused.status_code, "Viewers" in refused.json()["detail"]) == (403, True)
    assert not CallOverride.objects.exists()


@pytest.mark.parametrize("was_member", [True, False])
def test_a_stranger_and_a_former_member_find_no_team(team: User, was_member: bool) -> None:
    other = join(team, "member") if was_member else Api(make_user(), ("read", "schedules"))
    body = override(team)
    CallOverride.objects.create(member_id=body["member_id"], begins_at=NOW, ends_at=NOW + timedelta(days=1))
    Membership.objects.filter(person__name="Member").delete()
    assert other.get("/teams").json()["items"] == []
    assert other.get(f"/teams/{team.pk}").status_code == 404
    assert other("POST", f"/teams/{team.pk}/overrides", body).status_code == 404
    kept = CallOverride.objects.first()
    assert other("DELETE", f"/teams/{team.pk}/overrides/{kept.id if kept else body['member_id']}").status_code == 404


def test_bad_overrides_name_their_field(api: Api, team: User) -> None:
    stranger = Membership.objects.get(team=teams.create(make_user(), "Others"))
    wrong = {
        "member_id": str(stranger.id),
        "begins_at": "2090-01-01T00:00:00Z",
        "ends_at": f"{NOW - timedelta(hours=2):%FT%TZ}",
    }
    for name, value in wrong.items():
        body = override(team) | {"member_id": str(Membership.objects.get(team=team).id), name: value}
        assert name in wrong_fields(api("POST", f"/teams/{team.pk}/overrides", body)) or name == "begins_at"
    assert not CallOverride.objects.exists()
