"""Topics and subscriptions over the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event, Subscription, Topic
from events.topics import subscriptions
from notifications.models import Channel
from people.models import User
from tests.db.api.conftest import Api, wrong_fields
from tests.db.jobs.test_batches import handle, make_readers, make_topic, publish, subscribe
from tests.make import happen, make_channel, make_user

pytestmark = pytest.mark.django_db

NEWS: dict[str, Any] = {"name": "News", "slug": "news"}


@pytest.fixture
def bob() -> User:
    [bob] = make_readers(1)
    return bob


def test_a_topic_is_made_read_changed_listed_and_deleted(api: Api, ada: User) -> None:
    made = api.post("/topics", NEWS)
    assert (made.status_code, made["Location"]) == (201, "/api/v1/topics/news")
    assert made.json() | {"id": "", "created_at": ""} == NEWS | {
        "id": "",
        "description": "",
        "title": "{data.title}",
        "body": "{data.body}",
        "is_open": False,
        "subscribers": 0,
        "version": 1,
        "created_at": "",
    }
    subscribe(Topic.objects.get(), *make_readers(2))
    changed = api("PATCH", "/topics/news", {"is_open": True})
    assert (changed.json()["is_open"], changed.json()["name"]) == (True, "News")
    assert [one["subscribers"] for one in api.get("/topics").json()["items"]] == [2]
    assert api.get("/topics/news").json() == changed.json()
    assert api("DELETE", "/topics/news").status_code == 204
    assert api.get("/topics/news").status_code == 404


def test_a_change_that_has_not_seen_the_last_one_is_refused(api: Api) -> None:
    assert api.post("/topics", NEWS)["ETag"] == '"1"'
    changed = api("PATCH", "/topics/news", {"is_open": True}, **{"If-Match": '"1"'})
    assert (changed.json()["version"], changed["ETag"]) == (2, '"2"')
    for method, body in (("PATCH", {"name": "Club"}), ("DELETE", None)):
        refused = api(method, "/topics/news", body, **{"If-Match": '"1"'})
        assert (refused.status_code, refused["ETag"]) == (412, '"2"')
        assert refused.json()["current"] == changed.json() == api.get("/topics/news").json()
    assert api("PATCH", "/topics/news", {"name": "Club"}).json()["version"] == 3
    assert api("DELETE", "/topics/news", **{"If-Match": '"3"'}).status_code == 204


def test_a_wrong_change_leaves_the_version(api: Api, ada: User) -> None:
    make_topic(ada)
    assert api("PATCH", "/topics/news", {"name": ""}).status_code == 422
    assert api.get("/topics/news")["ETag"] == '"1"'


def test_the_events_of_a_topic_say_how_far_each_has_come(api: Api, ada: User) -> None:
    topic = make_topic(ada)
    subscribe(topic, *make_readers(2), make_user(is_active=False))
    told, new = publish(topic), publish(topic)
    handle(told)
    happen(ada)
    api.get("/topics/news")  # notes that the token was used
    with CaptureQueriesContext(connection) as queries:
        items = api.get("/topics/news/events").json()["items"]
    assert [(one["id"], one["state"], one["audience"], one["told"]) for one in items] == [
        (str(new.key), "pending", None, 0),
        (str(told.key), "handled", 3, 3),
    ]
    assert len(queries) == 3  # the token, the topic, its events
    # Who has a channel would tell whether an address has an account.
    assert "reached" not in api.get(f"/events/{told.key}").json()
    assert len(api.get("/topics/news/events?limit=1").json()["items"]) == 1
    assert Api(make_user()).get("/topics/news/events").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"slug": "a b"}, "slug"),
        ({"slug": "taken"}, "slug"),
        ({"name": ""}, "name"),
        ({"title": "{data.}"}, "title"),
        ({"title": "{colour}"}, "title"),
        ({"body": "x" * 10_001}, "body"),
        ({"is_open": "yes"}, "is_open"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_a_topic_names_the_field(api: Api, ada: User, body: Any, field: str) -> None:
    make_topic(ada, slug="taken")
    refused = api.post("/topics", NEWS | body)
    assert wrong_fields(refused) == [field]
    assert Topic.objects.count() == 1


def test_an_event_of_a_topic_says_how_far_it_is_told(api: Api, ada: User) -> None:
    subscribe(make_topic(ada), *make_readers(3))
    [sent] = api.post("/events", {"type": "news.written", "topic": "news", "data": {"title": "Rain"}}).json()["items"]
    key = sent["id"]
    before = api.get(f"/events/{key}").json()
    assert (before["topic"], before["audience"], before["told"]) == ("news", None, 0)
    handle(Event.objects.get())
    after = api.get(f"/events/{key}").json()
    assert (after["state"], after["audience"], after["told"]) == ("handled", 3, 3)


def test_somebody_is_added_and_the_answer_is_the_same_without_an_account(api: Api, ada: User, bob: User) -> None:
    make_topic(ada)
    answers = [api.post("/topics/news/subscriptions", {"address": name}) for name in (bob.email, "nobody@example.org")]
    again = [api.post("/topics/news/subscriptions", {"address": name}) for name in (bob.email, "nobody@example.org")]
    assert {one.status_code for one in answers + again} == {202}
    assert [one.json() for one in answers] == [one.json() for one in again]
    assert {tuple(one.json()) for one in answers} == {("id", "address")}
    subscriptions.subscribe_added()  # as a worker does
    assert Subscription.objects.get(user=bob).address == bob.email
    listed = api.get("/topics/news/subscriptions").json()["items"]
    assert listed == [one.json() for one in reversed(answers)]
    assert api("DELETE", f"/topics/news/subscriptions/{listed[1]['id']}").status_code == 204
    assert not Subscription.objects.filter(user=bob).exists()
    assert api("DELETE", f"/topics/news/subscriptions/{listed[1]['id']}").status_code == 404


def test_an_account_that_subscribed_by_itself_checks_the_same_too(api: Api, ada: User, bob: User) -> None:
    topic = make_topic(ada, is_open=True)
    [own] = subscribe(topic, bob)
    added = api.post("/topics/news/subscriptions", {"address": bob.email}).json()
    assert added["id"] != str(own.id)
    assert api.get("/topics/news/subscriptions").json()["items"] == [added]
    assert api("DELETE", f"/topics/news/subscriptions/{own.id}").status_code == 404
    assert Subscription.objects.current().filter(user=bob).count() == 1


@pytest.mark.parametrize("address", ["", "x", "a b@example.org", "a@example.org\r\nBcc: b@example.org"])
def test_what_is_no_address_is_refused(api: Api, ada: User, address: str) -> None:
    make_topic(ada)
    refused = api.post("/topics/news/subscriptions", {"address": address})
    assert {one["field"] for one in refused.json()["errors"]} == {"address"}
    assert not Subscription.objects.exists()


def test_one_subscribes_chooses_channels_and_unsubscribes(api: Api, ada: User) -> None:
    topic = make_topic(make_user(name="Bob"), is_open=True)
    channel = make_channel(ada, "email")
    assert [one["id"] for one in api.get("/subscriptions/topics").json()["items"]] == [str(topic.id)]
    assert api("PUT", f"/subscriptions/{topic.id}", {"channel_ids": []}).json()["channel_ids"] == []
    changed = api("PUT", f"/subscriptions/{topic.id}", {"channel_ids": [str(channel.id)]}).json()
    assert changed["topic"] == {"id": str(topic.id), "name": "News", "description": "", "by": "Bob"}
    assert (changed["channel_ids"], api.get("/subscriptions").json()["items"]) == ([str(channel.id)], [changed])
    assert api("DELETE", f"/subscriptions/{topic.id}").status_code == 204
    assert api.get("/subscriptions").json()["items"] == []
    assert Subscription.objects.count() == 1


def test_neither_closed_topics_nor_anothers_channels_can_be_had(api: Api, bob: User) -> None:
    closed, topic = make_topic(bob), make_topic(bob, slug="open", is_open=True)
    assert api("PUT", f"/subscriptions/{closed.id}", {"channel_ids": []}).status_code == 404
    for wrong in (str(Channel.objects.get(user=bob).id), "x"):
        refused = api("PUT", f"/subscriptions/{topic.id}", {"channel_ids": [wrong]})
        assert [one["field"] for one in refused.json()["errors"]] == ["channel_ids"]
    assert not Subscription.objects.exists()


def test_a_token_without_the_scope_changes_nothing(ada: User) -> None:
    topic, api = make_topic(ada), Api(ada, ("read", "notifications"))
    assert api.post("/topics", NEWS).status_code == 403
    assert api("PUT", f"/subscriptions/{topic.id}", {"channel_ids": []}).status_code == 403
    assert api.get("/topics").status_code == 200
