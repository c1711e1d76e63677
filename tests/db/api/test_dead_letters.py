"""Dead letters over the API: found by cause and channel, replayed, sent as new, discarded, fixed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import NOON, make_channel, make_delivery, make_user
from work import dead_letters
from work.models import Intervention

pytestmark = pytest.mark.django_db


@pytest.fixture
def hook(ada: User) -> Channel:
    return make_channel(ada, "webhook")


def dead(channel: Channel, **overrides: Any) -> Delivery:
    return make_delivery(channel, **({"state": "dead", "reason": "No.", "settled_at": NOON} | overrides))


def ids(answer: Any) -> list[str]:
    return [one["id"] for one in answer.json()["items"]]


def test_they_are_listed_by_cause_and_by_channel(api: Api, ada: User, hook: Channel) -> None:
    one, other = dead(hook), dead(hook, cause="webhook-http-404", settled_at=NOON + timedelta(minutes=1))
    mailed = dead(make_channel(ada, "email"))
    make_delivery(hook)
    assert ids(api.get("/dead-letters")) == [str(mailed.id), str(other.id), str(one.id)]
    assert ids(api.get("/dead-letters?cause=webhook-http-404")) == [str(other.id)]
    assert ids(api.get(f"/dead-letters?channel_id={hook.id}")) == [str(other.id), str(one.id)]
    groups = api.get("/dead-letters/causes").json()["items"]
    assert groups[0]["cause"] == "webhook-http-404"
    assert {(one["cause"], one["channel_id"], one["count"]) for one in groups} == {
        ("webhook-http-404", str(hook.id), 1),
        (one.cause, str(hook.id), 1),
        (mailed.cause, str(mailed.channel_id), 1),
    }
    assert groups[0]["reason"]["text"] == "No."


def test_one_is_read_with_its_attempts_also_once_it_is_replayed(api: Api, hook: Channel) -> None:
    letter = dead(hook)
    path = f"/dead-letters/{letter.id}"
    shown = api.get(path).json()
    assert (shown["id"], shown["state"], shown["cause"]) == (str(letter.id), "dead", letter.cause)
    assert shown["attempts"] == []
    api.post(f"{path}/replay")
    assert api.get(path).json()["state"] == "pending"
    assert Api(make_user()).get(path).status_code == 404


def test_a_stranger_finds_and_replays_none_of_them(api: Api, hook: Channel) -> None:
    letter, stranger = dead(hook), Api(make_user())
    assert ids(stranger.get("/dead-letters")) == stranger.get("/dead-letters/causes").json()["items"] == []
    assert ids(stranger.get(f"/dead-letters?channel_id={hook.id}")) == []
    assert stranger.post("/dead-letters/replay", {"cause": letter.cause}).json() == {"replayed": 0, "stale": 0}
    assert wrong_fields(stranger.post("/dead-letters/replay", {"channel_id": str(hook.id)})) == ["channel_id"]
    letter.refresh_from_db()
    assert letter.state == "dead"


def test_one_is_replayed_under_the_same_key_once(api: Api, ada: User, hook: Channel) -> None:
    letter = dead(hook)
    done = api.post(f"/dead-letters/{letter.id}/replay")
    assert (done.status_code, done.json()["id"], done.json()["state"]) == (202, str(letter.id), "pending")
    assert done.json()["replays"] == 1
    assert api.post(f"/dead-letters/{letter.id}/replay").status_code == 409
    kept = Intervention.objects.get()
    assert (kept.by, kept.what, kept.count) == (ada, "replayed", 1)


def test_those_of_a_cause_are_replayed_oldest_first_at_a_rate(api: Api, ada: User, hook: Channel) -> None:
    letters = [dead(hook, settled_at=NOON + timedelta(minutes=n)) for n in range(3)]
    theirs = dead(make_channel(make_user(), "webhook"))
    removed = dead(make_channel(ada, "webhook", removed_at=NOON))
    test = dead(hook, origin=Notification.Origin.TEST)
    old = dead(hook, expires_at=NOON)
    done = api.post("/dead-letters/replay", {"cause": letters[0].cause, "per_minute": 30})
    assert (done.status_code, done.json()) == (202, {"replayed": 3, "stale": 1})
    due = [Delivery.objects.get(id=letter.id).available_at for letter in letters]
    assert [at - due[0] for at in due] == [timedelta(seconds=2 * n) for n in range(3)]
    for untouched in (theirs, removed, test, old):
        untouched.refresh_from_db()
        assert untouched.state == "dead"


def test_those_of_a_channel_are_replayed(api: Api, ada: User, hook: Channel) -> None:
    letter, other = dead(hook, state="unknown"), dead(make_channel(ada, "email"))
    assert api.post("/dead-letters/replay", {"channel_id": str(hook.id)}).json() == {"replayed": 1, "stale": 0}
    assert Delivery.objects.get(id=letter.id).state == "pending"
    assert Delivery.objects.get(id=other.id).state == "dead"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["cause", "channel_id"]),
        ({"channel_id": "1"}, ["channel_id"]),
        ({"channel_id": str(uuid4())}, ["channel_id"]),
        ({"cause": "x", "per_minute": 0}, ["per_minute"]),
        ({"cause": "x", "per_minute": "60"}, ["per_minute"]),
        ({"cause": "x", "max_age_days": 0}, ["max_age_days"]),
        ({"cause": "x", "all": True}, ["all"]),
    ],
)
def test_a_wrong_replay_is_refused_by_its_field(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    answer = api.post("/dead-letters/replay", body)
    assert wrong_fields(answer) == fields


def test_one_that_is_sent_as_new_gets_another_key_and_the_old_one_ends(api: Api, ada: User, hook: Channel) -> None:
    letter = dead(hook, category="backup", data='{"a": 1}')
    done = api.post(f"/dead-letters/{letter.id}/replay-as-new", Idempotency_Key="k")
    assert (done.status_code, done.json()["state"]) == (202, "pending")
    assert done.json()["id"] != str(letter.id)
    new, old = Delivery.objects.get(id=done.json()["id"]), Delivery.objects.get(id=letter.id)
    assert (old.state, old.reason_code) == ("cancelled", "sent-as-new")
    assert new.notification_id != old.notification_id
    for name in ("subject", "body", "origin", "origin_id", "slot", "category", "data"):
        assert getattr(new.notification, name) == getattr(old.notification, name), name
    assert new.notification.urgent
    kept = Intervention.objects.get()
    assert (kept.what, kept.count, set(dead_letters.touched_by(kept))) == ("as-new", 1, {old, new})
    again = api.post(f"/dead-letters/{letter.id}/replay-as-new", Idempotency_Key="k")
    assert again.content == done.content
    assert api.post(f"/dead-letters/{letter.id}/replay-as-new").status_code == 409
    assert Delivery.objects.count() == 2


@pytest.mark.parametrize("act", ["replay", "replay-as-new"])
@pytest.mark.parametrize("fields", [{"disabled_at": NOON}, {"removed_at": NOON}, {"verified_at": None}])
def test_what_would_fail_at_once_is_not_sent(api: Api, hook: Channel, act: str, fields: dict[str, Any]) -> None:
    letter = dead(hook)
    Channel.objects.filter(id=hook.id).update(**fields)
    refused = api.post(f"/dead-letters/{letter.id}/{act}")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert api.post("/dead-letters/replay", {"cause": letter.cause}).json() == {"replayed": 0, "stale": 0}
    assert Delivery.objects.get().state == "dead"


@pytest.mark.parametrize(
    ("act", "body", "code", "text", "what"),
    [
        ("discard", {}, "discarded", "Discarded: its owner does not need it any more.", "discarded"),
        ("discard", {"reason": "Too\nlate."}, "discarded", "Discarded: Too late.", "discarded"),
        ("fixed", {"note": "By phone."}, "fixed", "Dealt with otherwise: By phone.", "fixed"),
    ],
)
def test_one_is_ended_with_a_note(
    api: Api, hook: Channel, act: str, body: dict[str, Any], code: str, text: str, what: str
) -> None:
    letter = dead(hook)
    Channel.objects.filter(id=hook.id).update(disabled_at=NOON)  # nothing is sent there
    done = api.post(f"/dead-letters/{letter.id}/{act}", body)
    assert (done.status_code, done.json()["state"]) == (200, "cancelled")
    assert (done.json()["reason"]["code"], done.json()["reason"]["text"]) == (code, text)
    assert Intervention.objects.get().what == what
    assert api.post(f"/dead-letters/{letter.id}/{act}", body).status_code == 409


@pytest.mark.parametrize("note", [None, "", " \n", "x" * 301, 1])
def test_a_fixed_one_needs_a_note(api: Api, hook: Channel, note: Any) -> None:
    letter = dead(hook)
    refused = api.post(f"/dead-letters/{letter.id}/fixed", {"note": note})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "note")
    assert Delivery.objects.get().state == "dead"


def test_lists_take_few_statements(api: Api, ada: User) -> None:
    for _ in range(5):
        dead(make_channel(ada, "webhook"))
    api.get("/me")
    for path in ("/dead-letters", "/dead-letters/causes"):
        with at_most(4):
            assert len(api.get(path).json()["items"]) == 5


def test_what_waits_too_long_is_left_alone(api: Api, hook: Channel) -> None:
    old = dead(hook, created_at=timezone.now() - timedelta(days=3))
    dead(hook, expires_at=timezone.now() - timedelta(hours=1))
    done = api.post("/dead-letters/replay", {"cause": old.cause, "max_age_days": 2})
    assert done.json() == {"replayed": 0, "stale": 2}
