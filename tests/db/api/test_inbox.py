"""The inbox over the API: listed by arrival, searched, marked as read; and messages that are answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from api.protocol.fields import written
from jobs.models import Leaver
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import NOON, make_channel, make_delivery, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def arrived(inbox: Channel, minutes: int = 0, **overrides: Any) -> Delivery:
    return make_delivery(inbox, state="delivered", settled_at=NOON + timedelta(minutes=minutes), **overrides)


def listed(api: Api, query: str = "") -> list[str]:
    answer = api.get(f"/inbox{query}")
    assert answer.status_code == 200, answer.content
    return [one["id"] for one in answer.json()["items"]]


def test_messages_are_listed_by_arrival_and_read_without_marking_them(api: Api, inbox: Channel) -> None:
    late, early = arrived(inbox, 5), arrived(inbox, 1)
    make_delivery(inbox)
    make_delivery(make_channel(inbox.user, "webhook"), state="delivered")
    arrived(make_channel(make_user()))
    assert listed(api) == [str(late.id), str(early.id)]
    message = api.get(f"/inbox/{late.id}").json()
    assert (message["title"], message["origin"], message["read_at"]) == ("Water the plants", "schedule", None)
    assert (message["notification_id"], message["answerable"]) == (str(late.notification_id), True)
    assert message["arrived_at"] == written(late.settled_at)
    assert api.get("/inbox").json()["items"][0] == message


def test_the_pages_show_each_one_once_also_those_that_arrived_together(api: Api, inbox: Channel) -> None:
    made = {str(arrived(inbox, number // 3).id) for number in range(7)}
    seen, path = [], "/inbox?limit=2"
    while path:
        answer = api.get(path)
        seen += [one["id"] for one in answer.json()["items"]]
        following = answer.json()["next"]
        assert ('rel="next"' in answer.get("Link", "")) == bool(following)
        path = f"/inbox?limit=2&cursor={following}" if following else ""
    assert (set(seen), len(seen)) == (made, 7)
    assert wrong_fields(api.get("/inbox?cursor=x")) == ["query.cursor"]
    assert len(listed(api, "?cursor=")) == 7


def test_more_than_a_chunk_is_on_one_page(api: Api, inbox: Channel) -> None:
    for number in range(60):
        arrived(inbox, number)
    assert len(listed(api, "?limit=55")) == 55
    assert api.get("/inbox?limit=60").json()["next"] is None


def test_the_unread_and_those_with_a_word_are_found(api: Api, inbox: Channel) -> None:
    rent, plants = arrived(inbox, 2, subject="Pay the rent"), arrived(inbox, 1, read_at=NOON)
    assert listed(api, "?unread=true") == [str(rent.id)]
    assert listed(api, "?unread=false") == listed(api, "?search=plants") == [str(plants.id)]
    assert listed(api, "?search=RENT") == [str(rent.id)]
    assert listed(api, "?search=rent&unread=false") == []
    assert wrong_fields(api.get("/inbox?unread=perhaps")) == ["query.unread"]


def test_one_and_all_are_marked_as_read(api: Api, inbox: Channel) -> None:
    one, other = arrived(inbox), arrived(inbox)
    first = api.post(f"/inbox/{one.id}/read").json()["read_at"]
    assert first is not None
    assert api.post(f"/inbox/{one.id}/read").json()["read_at"] == first
    theirs = arrived(make_channel(make_user()))
    assert api.post("/inbox/read").json() == {"count": 1}
    assert Delivery.objects.filter(read_at=None).get() == theirs
    assert other.id != theirs.id


def test_another_persons_messages_are_404(inbox: Channel) -> None:
    message, stranger = arrived(inbox), Api(make_user())
    answers = [stranger.get(f"/inbox/{message.id}"), stranger.post(f"/inbox/{message.id}/read")]
    answers += [stranger.post(f"/notifications/{message.notification_id}/acknowledge")]
    answers += [
        stranger.post(f"/notifications/{message.notification_id}/snooze", {"snooze_ends_at": "2999-01-01T00:00:00Z"})
    ]
    assert [one.status_code for one in answers] == [404, 404, 404, 404]
    assert Delivery.objects.get().read_at is None


def test_a_token_that_only_reads_marks_and_answers_nothing(ada: User, inbox: Channel) -> None:
    message, reader = arrived(inbox), Api(ada, ("read",))
    for path in ("/inbox/read", f"/inbox/{message.id}/read", f"/notifications/{message.notification_id}/acknowledge"):
        assert reader.post(path).status_code == 403


def test_acknowledging_stops_other_channels_and_counts_once(api: Api, inbox: Channel) -> None:
    message = arrived(inbox)
    path = f"/notifications/{message.notification_id}/acknowledge"
    answered = api.post(path).json()
    assert answered["acknowledged_at"] is not None
    assert api.get(f"/inbox/{message.id}").json()["read_at"] is not None
    assert api.get(f"/inbox/{message.id}").json()["answerable"] is False
    assert api.post(path).status_code == 409


def test_snoozing_sends_the_same_again_at_that_time(api: Api, inbox: Channel) -> None:
    message, until = arrived(inbox), (timezone.now() + timedelta(hours=2)).replace(microsecond=0)
    path = f"/notifications/{message.notification_id}/snooze"
    answered = api.post(path, {"snooze_ends_at": written(until)}).json()
    assert answered["snooze_ends_at"] == written(until)
    again = Delivery.objects.exclude(id=message.id).get()
    assert (again.available_at, again.notification.subject) == (until, "Water the plants")
    assert api.post(path, {"snooze_ends_at": written(until)}).status_code == 409


@pytest.mark.parametrize(
    "body", [{}, {"snooze_ends_at": "2001-01-01T00:00:00Z"}, {"snooze_ends_at": "2999-01-01T00:00:00Z"}]
)
def test_a_time_to_snooze_until_is_to_come_within_a_year(api: Api, inbox: Channel, body: dict[str, Any]) -> None:
    message = arrived(inbox)
    refused = api.post(f"/notifications/{message.notification_id}/snooze", body)
    assert wrong_fields(refused) == ["snooze_ends_at"]
    assert Delivery.objects.count() == 1


def test_only_reminders_and_rules_are_answered(api: Api, inbox: Channel) -> None:
    message = arrived(inbox, origin="notice")
    assert api.get(f"/inbox/{message.id}").json()["answerable"] is False
    assert api.post(f"/notifications/{message.notification_id}/acknowledge").status_code == 409


def test_announcements_are_stopped_and_come_again(api: Api, inbox: Channel) -> None:
    origin = uuid4()
    message = arrived(inbox, origin="announcement", origin_id=origin)
    waiting = make_delivery(inbox, origin="announcement", origin_id=origin)
    path = f"/notifications/{message.notification_id}"
    assert [api.post(f"{path}/stop-announcements").status_code for _ in range(2)] == [204, 204]
    waiting.refresh_from_db()
    assert (waiting.state, Leaver.objects.get().origin_id) == ("cancelled", origin)
    assert api.post(f"{path}/resume-announcements").status_code == 204
    assert not Leaver.objects.exists()
    assert api.post(f"/notifications/{arrived(inbox).notification_id}/stop-announcements").status_code == 409


def test_listing_takes_three_statements_however_many_there_are(api: Api, inbox: Channel) -> None:
    api.get("/me")
    for number in range(20):
        arrived(inbox, number)
    with at_most(3):
        assert len(listed(api)) == 20
    assert Notification.objects.count() == 20


def test_a_message_is_archived_as_read_and_put_back(api: Api, inbox: Channel) -> None:
    gone, there = arrived(inbox, 5), arrived(inbox, 1)
    for _ in range(2):
        answer = api.post(f"/inbox/{gone.id}/archive")
        assert answer.status_code == 200
        assert answer.json()["archived_at"] == answer.json()["read_at"] is not None
    assert (listed(api), listed(api, "?archived=true")) == ([str(there.id)], [str(gone.id)])
    for _ in range(2):
        back = api.post(f"/inbox/{gone.id}/unarchive").json()
        assert (back["archived_at"], back["read_at"]) == (None, answer.json()["read_at"])
    assert listed(api) == [str(gone.id), str(there.id)]
    assert api.post(f"/inbox/{arrived(make_channel(make_user())).id}/archive").status_code == 404
