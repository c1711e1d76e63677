"""Topics and subscriptions: who may join, who is added, who leaves, and what owners do not see."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from common.database.postgres import is_orphan
from events.models import Subscription, Topic
from events.topics import changes, subscriptions
from notifications.messages.links import LEAVE, UNSUBSCRIBE
from notifications.messages.message import Delivered
from notifications.models import Channel, Delivery, Notification
from people.account import deletion
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_inbound import in_thread
from tests.db.jobs.test_batches import handle, make_readers, make_topic, publish, subscribe
from tests.db.locks import locked, wait_for_a_lock
from tests.make import NOON, answers, make_channel, make_user, send_now, signed_in

NEWS = {"name": "News", "slug": "news", "title": "{data.title}", "body": "{data.body}", "description": "All of it"}


@pytest.fixture
def bob() -> User:
    [bob] = make_readers(1)
    return bob


@pytest.fixture
def topic(ada: User) -> Topic:
    return make_topic(ada)


def current(topic: Topic) -> set[str]:
    return {one.user.email for one in Subscription.objects.current().filter(topic=topic, user__isnull=False)}


def test_a_topic_is_made_edited_and_deleted_with_a_confirmation(browser: Client, ada: User) -> None:
    assert browser.post("/topics/new/", NEWS).status_code == 302
    topic = Topic.objects.get(user=ada)
    browser.post(f"/topics/{topic.id}/edit/", NEWS | {"name": "Club", "slug": "other", "is_open": "on"})
    topic.refresh_from_db()
    assert (topic.name, topic.slug, topic.is_open) == ("Club", "news", True)
    assert "Delete Club?" in browser.get(f"/topics/{topic.id}/delete/").content.decode()
    browser.post(f"/topics/{topic.id}/delete/")
    assert not Topic.objects.exists()


@contextmanager
def while_it_is_deleted(topic: Topic) -> Iterator[ThreadPoolExecutor]:
    """Somebody deletes the topic, and does not commit before its block has made a call that waits."""
    with locked("events_topic", topic.id, "UPDATE") as other, ThreadPoolExecutor(1) as pool:
        yield pool
        wait_for_a_lock()
        other.execute("DELETE FROM events_topic")
        other.commit()


@pytest.mark.django_db(transaction=True)
def test_who_subscribes_to_a_topic_that_is_deleted_meanwhile_finds_none(topic: Topic, bob: User) -> None:
    topic.is_open = True
    topic.save()
    api, owner = Api(bob), Api(topic.user)
    for call, status in (
        (partial(signed_in(bob).post, f"/subscriptions/{topic.id}/", {}), 404),
        (partial(api, "PUT", f"/subscriptions/{topic.id}", {"channel_ids": []}), 409),
        (partial(signed_in(topic.user).post, f"/topics/{topic.id}/", {"address": bob.email}), 404),
        (partial(owner, "POST", "/topics/news/subscriptions", {"address": bob.email}), 404),
        (partial(owner, "POST", "/events", {"type": "a.b", "topic": "news", "data": {}}), 409),
    ):
        with while_it_is_deleted(topic) as pool:
            answer = pool.submit(in_thread, call)
        assert answer.result().status_code == status
        topic.save(force_insert=True)


@pytest.mark.django_db(transaction=True)
def test_a_topic_is_deleted_also_while_somebody_subscribes(topic: Topic, bob: User) -> None:
    event = publish(topic)
    with ThreadPoolExecutor(2) as pool:
        with locked("events_event", event.id):
            deletion = pool.submit(in_thread, partial(signed_in(topic.user).post, f"/topics/{topic.id}/delete/"))
            wait_for_a_lock()
            joining = pool.submit(in_thread, partial(subscriptions.join, bob, topic, ()))
            wait([joining], 1)  # it waits for the deletion
        assert deletion.result().status_code == 302
        assert is_orphan(joining.exception())
    assert not Topic.objects.exists()


def test_an_edit_overwrites_no_change_that_its_editor_has_not_seen(browser: Client, topic: Topic) -> None:
    page = f"/topics/{topic.id}/edit/"
    mine = NEWS | {"name": "Mine", "version": browser.get(page).context["form"]["version"].value()}
    browser.post(page, mine | {"name": "Theirs"})
    answer = browser.post(page, mine)
    assert (answer.status_code, answer.context["differences"][0][1:]) == (409, ("Theirs", "Mine"))
    topic.refresh_from_db()
    assert topic.name == "Theirs"
    seen = mine | {"version": answer.context["form"]["version"].value()}
    assert browser.post(page, seen).status_code == 302
    topic.refresh_from_db()
    assert topic.name == "Mine"


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": ""}, "name"),
        ({"slug": ""}, "slug"),
        ({"slug": "Grüße an alle"}, "slug"),
        ({"slug": "taken"}, "slug"),
        ({"title": ""}, "title"),
        ({"title": "{data." + "x." * 50 + "x}"}, "title"),
        ({"body": "{name}"}, "body"),
        ({"body": "x" * 10_001}, "body"),
        ({"description": "x" * 501}, "description"),
        ({"name": "a\0b"}, "name"),
    ],
)
def test_what_cannot_be_a_topic_names_the_field(browser: Client, ada: User, typed: dict[str, str], field: str) -> None:
    make_topic(ada, slug="taken")
    answer = browser.post("/topics/new/", NEWS | typed)
    assert list(answer.context["form"].errors) == [field]
    assert Topic.objects.count() == 1


def test_a_topic_past_the_limit_is_refused(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_TOPICS = 1
    make_topic(ada, slug="first")
    assert "You have 1 topics, which is the limit." in browser.post("/topics/new/", NEWS).content.decode()


def test_whoever_is_added_is_told_once_in_their_inbox_and_subscribed_there(
    browser: Client, topic: Topic, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_channel(bob, "email")
    for _ in range(2):
        assert browser.post(f"/topics/{topic.id}/", {"address": bob.email.upper()}).status_code == 302
        assert not Notification.objects.exists() or Subscription.objects.get().user == bob
        subscriptions.subscribe_added()
    [notification] = Notification.objects.all()
    assert (notification.user, notification.subject) == (bob, "You are subscribed to “News”")
    own = Subscription.objects.get(user=bob)
    assert [notification.origin_id, own.channel_ids] == [own.id, [Channel.objects.get(user=bob, provider="inbox").id]]
    sent = answers(monkeypatch, Delivered())
    send_now(notification.deliveries.get().id)
    assert sent[0].unsubscribe_url == LEAVE.address(own.id)
    subscriptions.remove(topic, own.id)
    add(topic, bob.email)
    assert Subscription.objects.get().user == bob
    assert Notification.objects.count() == 1


def test_an_address_without_an_account_looks_the_same_to_the_owner(browser: Client, topic: Topic, bob: User) -> None:
    def page_after(address: str) -> str:
        page = browser.post(f"/topics/{topic.id}/", {"address": address}, follow=True).content.decode()
        return page.replace(address, "…").split("<main")[1]

    statements = []
    pages = []
    for address in (bob.email, "nobody@example.org"):
        with CaptureQueriesContext(connection) as captured:
            pages.append(page_after(address))
        statements.append(len(captured))
    assert statements[0] == statements[1]
    subscriptions.subscribe_added()
    listed = [page.count("…") for page in pages]
    assert (listed[0], "2 subscribers" in pages[1]) == (listed[1], True)
    event = publish(topic)
    Subscription.objects.update(joined_at="2026-01-01T00:00Z")
    assert (handled := handle(event)).size == handled.told == 2


def test_an_address_that_has_got_an_account_is_subscribed_when_it_is_added_again(topic: Topic) -> None:
    add(topic, "new@example.org")
    new = make_user(email="new@example.org")
    add(topic, "new@example.org")
    assert current(topic) == {new.email}
    assert Subscription.objects.count() == 1
    assert Channel.objects.get(user=new).provider == "inbox"


def test_an_account_that_is_switched_off_is_not_subscribed(topic: Topic, bob: User) -> None:
    User.objects.filter(id=bob.id).update(is_active=False)
    add(topic, bob.email)
    assert Subscription.objects.get().user is None
    assert not Notification.objects.exists()


def test_the_owner_does_not_see_who_joined_by_themselves(browser: Client, topic: Topic, bob: User) -> None:
    Topic.objects.update(is_open=True)
    signed_in(bob).post(f"/subscriptions/{topic.id}/")
    page = browser.get(f"/topics/{topic.id}/").content.decode()
    assert "1 subscriber " in page and bob.email not in page and bob.name not in page.split("<main")[1]


def test_a_topic_that_is_not_open_takes_only_who_was_added(topic: Topic, bob: User) -> None:
    client = signed_in(bob)
    assert client.get(f"/subscriptions/{topic.id}/").status_code == 404
    assert client.post(f"/subscriptions/{topic.id}/").status_code == 404
    add(topic, bob.email)
    assert client.get(f"/subscriptions/{topic.id}/").status_code == 200


def test_one_subscribes_with_channels_of_ones_choice(topic: Topic, bob: User) -> None:
    Topic.objects.update(is_open=True)
    email, client = make_channel(bob, "email"), signed_in(bob)
    assert "News" in client.get("/subscriptions/").content.decode()
    client.post(f"/subscriptions/{topic.id}/", {"channels": [str(email.id)]})
    assert Subscription.objects.get().channel_ids == [email.id]
    Subscription.objects.update(joined_at=NOON)
    client.post(f"/subscriptions/{topic.id}/")
    own = Subscription.objects.get()
    assert (own.channel_ids, own.joined_at) == ([], NOON)


def test_anothers_channel_is_refused(topic: Topic, ada: User, bob: User) -> None:
    Topic.objects.update(is_open=True)
    for wrong in (str(make_channel(ada, "email").id), "x", str(make_channel(bob, "status").id)):
        answer = signed_in(bob).post(f"/subscriptions/{topic.id}/", {"channels": [wrong]})
        assert list(answer.context["form"].errors) == ["channels"]
    assert not Subscription.objects.exists()


def test_one_click_leaves_without_signing_in_and_cancels_what_is_not_sent(topic: Topic, bob: User) -> None:
    [own] = subscribe(topic, bob)
    handle(publish(topic))
    path, anybody = LEAVE.address(own.id).removeprefix("http://127.0.0.1:8000"), Client()
    assert anybody.get(path).status_code == 200
    assert current(topic) == {bob.email}
    page = anybody.post(path, follow=True).content.decode()
    assert "You are not subscribed to “News”" in page and bob.email not in page
    assert current(topic) == set()
    assert Delivery.objects.values_list("state", "reason_code").get() == ("cancelled", "left")
    assert anybody.post(path).status_code == 302
    assert anybody.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    topic.delete()
    assert "This topic is deleted" in anybody.get(path).content.decode()


def test_a_token_of_another_purpose_does_not_leave(topic: Topic, bob: User) -> None:
    [own] = subscribe(topic, bob)
    assert Client().post(f"/leave/{UNSUBSCRIBE.token(own.id)}/").status_code == 404
    assert current(topic) == {bob.email}


def test_who_has_left_is_not_added_again_but_may_come_back_for_what_comes(topic: Topic, bob: User) -> None:
    add(topic, bob.email)
    own = Subscription.objects.get()
    subscriptions.leave(own.id)
    add(topic, bob.email)
    assert subscriptions.remove(topic, own.id)
    add(topic, bob.email)
    assert current(topic) == set()
    event = publish(topic)
    signed_in(bob).post(f"/subscriptions/{topic.id}/")
    assert current(topic) == {bob.email}
    assert handle(event).reached == 0


def test_whom_the_owner_removes_is_told_nothing_more(browser: Client, topic: Topic, bob: User) -> None:
    add(topic, bob.email)
    own = Subscription.objects.get()
    other = make_topic(make_user())
    assert browser.post(f"/topics/{other.id}/people/{own.id}/remove/").status_code == 404
    assert browser.post(f"/topics/{topic.id}/people/{own.id}/remove/").status_code == 302
    assert not Subscription.objects.exists()
    assert signed_in(bob).get(f"/subscriptions/{topic.id}/").status_code == 404


def test_of_an_account_that_is_deleted_addresses_stay_in_the_lists_of_owners(topic: Topic, bob: User) -> None:
    [joined, left] = make_readers(2)
    Topic.objects.update(is_open=True)
    subscriptions.join(joined, topic, [])
    for one in (bob, left):
        add(topic, one.email)
    subscriptions.leave(Subscription.objects.get(user=left).id)
    for one in (bob, joined, left):
        deletion.request(one)
    deletion.delete_requested()
    assert set(Subscription.objects.values_list("user", "address")) == {(None, bob.email), (None, left.email)}
    Subscription.objects.update(joined_at=NOON)
    assert handle(publish(topic)).size == 1


def test_who_joined_by_themselves_is_not_the_owners_to_remove(browser: Client, topic: Topic, bob: User) -> None:
    Topic.objects.update(is_open=True)
    own = subscriptions.join(bob, topic, [])
    assert browser.post(f"/topics/{topic.id}/people/{own.id}/remove/").status_code == 404
    assert current(topic) == {bob.email}


def test_there_is_a_limit_to_the_addresses_of_a_topic(topic: Topic, settings: Settings) -> None:
    settings.MOST_ADDED = 1
    add(topic, "one@example.org")
    add(topic, "one@example.org")
    with pytest.raises(subscriptions.TopicFull):
        add(topic, "two@example.org")


def test_nobody_is_added_to_very_many_topics_in_a_day(ada: User, bob: User) -> None:
    for number in range(31):
        add(make_topic(ada, slug=f"t{number}"), bob.email)
    assert Subscription.objects.filter(user=bob).count() == 30


def test_the_inbox_shows_the_link_to_leave(topic: Topic, bob: User) -> None:
    [own] = subscribe(topic, bob)
    handle(publish(topic))
    delivery = Delivery.objects.get()
    send_now(delivery.id)
    page = signed_in(bob).get(f"/inbox/{delivery.id}/").content.decode()
    assert f"/leave/{LEAVE.token(own.id)}/" in page


def test_quiet_hours_are_kept(topic: Topic, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(quiet_from="00:00", quiet_until="23:59", time_zone="UTC")
    email = make_channel(bob, "email")
    subscribe(topic, bob, channel_ids=[email.id])
    handle(publish(topic))
    delivery = Delivery.objects.get()
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.reason_code) == ("pending", "quiet-hours")


def test_subscribers_are_counted_up_to_a_limit(
    browser: Client, operator: Client, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "COUNTED", 2)
    subscribe(topic, *make_readers(4))
    for client, path in ((browser, "/topics/"), (browser, f"/topics/{topic.id}/"), (operator, "/admin/events/topic/")):
        with CaptureQueriesContext(connection) as captured:
            page = client.get(path).content.decode()
        assert "more than 2" in page
        counts = [one["sql"] for one in captured if "count(*)" in one["sql"] and "subscription" in one["sql"]]
        assert counts and all("LIMIT 3" in sql for sql in counts)


@pytest.mark.parametrize("rows", [3, 30])
def test_the_lists_take_as_many_statements_for_many_as_for_few(
    browser: Client, ada: User, rows: int, django_assert_num_queries: Any
) -> None:
    bob = make_user()
    for number in range(rows):
        own = make_topic(ada, slug=f"own{number}")
        Subscription.objects.create(topic=own, address="one@example.org")
        subscribe(make_topic(bob, slug=f"s{number}", is_open=True), ada)
        make_topic(bob, slug=f"o{number}", is_open=True)
    for path, statements in {"/topics/": 6, f"/topics/{own.id}/": 8, "/subscriptions/": 8}.items():
        with django_assert_num_queries(statements, info=path):
            assert browser.get(path).status_code == 200


def add(topic: Topic, address: str) -> None:
    """Add an address, and look for its account as a worker does."""
    subscriptions.add(topic, address)
    subscriptions.subscribe_added()


def test_whose_account_is_busy_is_subscribed_later(topic: Topic, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(user_id: int) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(subscriptions, "lock_at_once", busy)
        add(topic, bob.email)
    assert Subscription.objects.get().user is None
    assert subscriptions.subscribe_added() == 1
    assert current(topic) == {bob.email}
    assert subscriptions.subscribe_added() == 0


def test_an_address_that_is_added_again_meanwhile_is_looked_for_again(
    topic: Topic, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        again = Subscription.objects.filter(address=bob.email)
        patch.setattr(subscriptions, "lock_at_once", lambda _: again.update(asked_at=timezone.now()))
        add(topic, bob.email)
    assert [subscriptions.subscribe_added(), subscriptions.subscribe_added()] == [1, 0]
