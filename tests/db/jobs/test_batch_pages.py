"""The pages and the API of batches, for their owners; and how readers stop announcements."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import Subscription
from jobs.batches import progress, withdrawal
from jobs.batches.withdrawal import withdraw
from jobs.models import Batch, Leaver
from notifications.messages.links import STOP
from notifications.models import Delivery, Notification
from notifications.reasons import DeliveryCode
from people.models import User
from tests.db.api.conftest import Api
from tests.db.jobs.test_audiences import announce, make_reader, tell, told
from tests.db.jobs.test_batch_progress import fail
from tests.db.jobs.test_batches import handle, make_readers, make_topic, publish, subscribe
from tests.make import make_channel, make_delivery, make_user, send_now, signed_in, take


@pytest.fixture
def staff() -> User:
    return make_user(is_staff=True, date_joined=datetime(2099, 1, 1, tzinfo=UTC))


@pytest.fixture
def page(staff: User) -> Client:
    return signed_in(staff)


def shown(page: Client, path: str) -> str:
    answer = page.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_a_batch_asks_for_its_progress_until_it_has_ended(page: Client, staff: User) -> None:
    make_reader()
    batch = tell(announce(staff, title="We move"))
    assert "We move" in shown(page, "/batches/")
    path = f"/batches/{batch.id}/progress/"
    assert "<strong>1</strong> of 1 person told" in shown(page, path)
    assert "tick from:body" in shown(page, path)
    send_now(Delivery.objects.get().id)
    progress.count_open()
    assert "tick from:body" not in shown(page, path)
    assert "100 %" in shown(page, f"/batches/{batch.id}/")
    assert "Cancel what" not in shown(page, f"/batches/{batch.id}/")


def test_without_batches_the_list_says_what_they_are(page: Client) -> None:
    assert "No batches yet" in shown(page, "/batches/")


def test_the_list_takes_the_same_statements_for_many(page: Client, staff: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            page.get("/batches/")
        return len(captured)

    make_reader()
    tell(announce(staff))
    one = statements()
    for _ in range(3):
        tell(announce(staff))
    assert statements() == one


def test_a_batch_is_cancelled_halfway_and_what_failed_is_replayed_on_its_page(page: Client, staff: User) -> None:
    for _ in range(3):
        make_reader()
    batch = tell(announce(staff))
    fail(Delivery.objects.all()[:1])
    assert "Replay what failed" in shown(page, f"/batches/{batch.id}/")
    page.post(f"/batches/{batch.id}/replay/")
    assert Delivery.objects.filter(state="pending", replays=1).count() == 1
    page.post(f"/batches/{batch.id}/cancel/")
    withdrawal.cancel_parts()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}


def test_the_api_reads_lists_cancels_and_replays_batches(staff: User) -> None:
    for _ in range(2):
        make_reader()
    batch = tell(announce(staff, title="We move"))
    api = Api(staff)
    fail(Delivery.objects.all()[:1])
    read = api("GET", f"/batches/{batch.id}").json()
    assert (read["pending"], read["failed"], read["total"], read["percent"]) == (1, 1, 2, 50.0)
    assert (read["title"], read["audience"]) == ("We move", {"kind": "everybody", "key": ""})
    assert (read["state"], read["size"], read["told"], read["ended_at"]) == ("told", 2, 2, None)
    assert api("GET", "/batches").json()["items"] == [read]
    assert api("GET", f"/batches?origin_id={batch.id}").json()["items"] == []
    assert api("POST", f"/batches/{batch.id}/replay").json() == {"replayed": 1}
    assert api("POST", f"/batches/{batch.id}/cancel").status_code == 200
    withdrawal.cancel_parts()
    assert api("GET", f"/batches/{batch.id}").json()["dropped"] == 2


def test_a_reader_sees_of_a_batch_only_what_it_sent_to_them(staff: User) -> None:
    reader, _ = make_reader(), make_reader()
    batch = tell(announce(staff))
    read = Api(reader)("GET", f"/batches/{batch.id}").json()
    assert (read["total"], read["size"], read["audience"]) == (1, None, None)
    assert Api(reader)("POST", f"/batches/{batch.id}/replay").status_code == 404
    assert Api(reader)("GET", "/batches").json()["items"] == []


def test_the_batch_of_a_topic_does_not_tell_its_owner_who_has_an_account(ada: User) -> None:
    with_account, without = make_topic(ada), make_topic(ada, slug="other")
    subscribe(with_account, *make_readers(1), address="eva@example.net")
    Subscription.objects.create(topic=without, address="eva@example.net", joined_at=Now())
    Subscription.objects.update(joined_at=datetime(2026, 1, 1, tzinfo=UTC))
    told = [handle(publish(topic)) for topic in (with_account, without)]
    page, api = signed_in(ada), Api(ada)
    documents, pages = [], []
    for batch in told:
        document = api("GET", f"/batches/{batch.id}").json()
        documents.append(
            {name: document[name] for name in document.keys() - {"id", "audience", "started_at", "ended_at"}}
        )
        assert document["ended_at"] is not None
        assert api("POST", f"/batches/{batch.id}/replay").status_code == 409
        said = shown(page, f"/batches/{batch.id}/progress/").split("Ended")[0]
        pages.append(said.replace(str(batch.id), ""))
    assert documents[0] == documents[1]
    assert pages[0] == pages[1]
    assert "reached" not in pages[0]


def test_a_reader_stops_announcements_on_the_page_and_gets_them_again(staff: User) -> None:
    reader = make_reader()
    batch = tell(announce(staff))
    announcement = Notification.objects.get()
    page = signed_in(reader)
    said = shown(page, f"/history/{announcement.id}/")
    assert "Stop these announcements" in said
    assert str(batch.origin_id) not in said
    page.post(f"/announcements/{announcement.id}/stop/", {"act": "stop"})
    assert Delivery.objects.get().reason_code == "stopped-announcements"
    assert "Get them again" in shown(page, f"/history/{announcement.id}/")
    page.post(f"/announcements/{announcement.id}/stop/", {"act": "resume"})
    assert not Leaver.objects.exists()


def test_a_reader_stops_announcements_for_nobody_else(staff: User) -> None:
    reader, other = make_reader(), make_reader()
    tell(announce(staff))
    page, announcement = signed_in(reader), Notification.objects.get(user=reader)
    page.post(f"/announcements/{announcement.id}/stop/", {"act": "stop"})
    states = Delivery.objects.values_list("notification__user", "state")
    assert set(states) == {(reader.pk, "cancelled"), (other.pk, "pending")}


def test_what_has_ended_is_not_cancelled_with_its_reminder(staff: User) -> None:
    make_reader()
    batch = tell(announce(staff))
    assert batch.origin_id is not None
    Batch.objects.update(ended_at=Now())
    withdraw([], DeliveryCode.DELETED, announced=[batch.origin_id])
    batch.refresh_from_db()
    assert (batch.cancelled_at, batch.ended_at is None) == (None, False)


def test_a_message_in_the_inbox_can_stop_them_too() -> None:
    reader = make_user()
    inbox = make_delivery(make_channel(reader), origin="announcement", origin_id=uuid4(), state="delivered")
    path = f"/announcements/{inbox.notification_id}/stop/"
    assert f'action="{path}"' in signed_in(reader).get(f"/inbox/{inbox.id}/").content.decode()
    other = make_delivery(inbox.channel, state="delivered")
    assert "/announcements/" not in signed_in(reader).get(f"/inbox/{other.id}/").content.decode()


def test_the_link_in_each_message_stops_announcements_without_signing_in(client: Client, staff: User) -> None:
    make_reader()
    batch = tell(announce(staff))
    claim = take(Delivery.objects.get().id)
    assert claim is not None
    path = f"/stop/{STOP.token(Notification.objects.get().id)}/"
    assert claim.message.unsubscribe_url.endswith(path)
    assert "Stop these announcements?" in shown(client, path)
    assert not Leaver.objects.exists()
    client.post(path, {"List-Unsubscribe": "One-Click"})
    assert Leaver.objects.get().origin_id == batch.origin_id
    assert "are stopped" in shown(client, path)
    client.post(path, {"act": "resume"})
    assert not Leaver.objects.exists()


def test_announcements_to_a_topic_are_left_without_leaving_the_topic(staff: User) -> None:
    topic = make_topic(staff)
    [reader] = make_readers(1)
    subscribe(topic, reader)
    first = announce(staff, "topic", str(topic.id))
    tell(first)
    assert Notification.objects.get().origin_id == first.origin_id
    signed_in(reader).post(f"/announcements/{Notification.objects.get().id}/stop/", {"act": "stop"})
    Batch.objects.filter(id=first.id).delete()
    assert handle(publish(topic)).reached == 1
    assert told() == [reader.pk]
