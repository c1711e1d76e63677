"""Messages over the API: sent, followed, cancelled; and the progress of a batch."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from api.protocol.fields import written
from common.database import paging
from notifications.deliveries import outbox
from notifications.models import Channel, Delivery, Notification
from people.models import User
from schedules.firing import fire
from tests.db.api.conftest import Api, at_most, wrong_fields
from tests.make import NINE, make_channel, make_delivery, make_schedule, make_user, send_now, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def message(*channels: Channel, **more: Any) -> dict[str, Any]:
    return {"title": "Backup", "body": "Done, {name}.", "channel_ids": [str(one.id) for one in channels]} | more


def read(api: Api, key: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/notifications/{key}").json()
    return found


def test_a_message_is_accepted_with_its_ids_and_arrives_as_it_was_written(api: Api, inbox: Channel) -> None:
    sent = api.post("/notifications", message(inbox, category="backup", data={"gigabytes": 42}))
    assert sent.status_code == 202
    [key] = sent.json()["delivery_ids"]
    send_now(Delivery.objects.get(id=key).id)
    found = api.get(sent["Location"].removeprefix("/api/v1")).json()
    assert (found["id"], found["outcome"], found["origin"]) == (sent.json()["id"], "full", "api")
    assert (found["title"], found["body"]) == ("Backup", "Done, {name}.")
    assert (found["category"], found["data"]) == ("backup", {"gigabytes": 42})
    [delivery] = found["deliveries"]
    assert (delivery["id"], delivery["channel_id"], delivery["state"]) == (key, str(inbox.id), "delivered")


def test_a_failed_attempt_says_its_code_its_parameters_and_a_sentence(api: Api, ada: User) -> None:
    hook = make_channel(ada, "webhook", disabled_at=timezone.now())
    delivery = make_delivery(hook)
    send_now(delivery.id)
    [shown] = read(api, str(delivery.notification_id))["deliveries"]
    assert (shown["state"], shown["reason"]["code"]) == ("dead", "disabled")
    assert shown["reason"]["text"]
    assert shown["cause"]
    [attempt] = shown["attempts"]
    assert (attempt["outcome"], attempt["reason"]["code"]) == ("rejected", "disabled")


def test_a_message_for_later_waits_for_its_time(api: Api, inbox: Channel) -> None:
    later = (timezone.now() + timedelta(hours=2)).replace(microsecond=0)
    sent = api.post("/notifications", message(inbox, send_at=written(later))).json()
    [delivery] = read(api, sent["id"])["deliveries"]
    assert (delivery["state"], delivery["available_at"]) == ("pending", written(later))
    assert take(Delivery.objects.get().id) is None


def test_a_message_waits_for_the_end_of_quiet_hours_unless_it_is_urgent(api: Api, ada: User) -> None:
    hook, hour = make_channel(ada, "webhook"), timezone.now()
    around = {"quiet_from": hour - timedelta(hours=1), "quiet_until": hour + timedelta(hours=2)}
    User.objects.filter(id=ada.id).update(
        time_zone="UTC", **{name: edge.time().replace(microsecond=0) for name, edge in around.items()}
    )
    waits, goes = (api.post("/notifications", message(hook, urgent=urgent)).json() for urgent in (False, True))
    assert read(api, waits["id"])["deliveries"][0]["reason"]["code"] == "quiet-hours"
    assert datetime.fromisoformat(read(api, waits["id"])["deliveries"][0]["available_at"]) > hour + timedelta(hours=1)
    assert datetime.fromisoformat(read(api, goes["id"])["deliveries"][0]["available_at"]) < hour + timedelta(minutes=1)


def test_a_repeated_message_is_sent_once(api: Api, inbox: Channel) -> None:
    first, again = (api.post("/notifications", message(inbox), Idempotency_Key="k") for _ in range(2))
    assert (first.content, again["Idempotency-Replayed"]) == (again.content, "true")
    assert (Notification.objects.count(), Delivery.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": " \n"}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"body": "x" * 10_001}, "body"),
        ({"channel_ids": []}, "channel_ids"),
        ({"channel_ids": ["nonsense"]}, "channel_ids"),
        ({"channel_ids": "all"}, "channel_ids"),
        ({"send_at": "2026-01-01T09:00:00Z"}, "send_at"),
        ({"send_at": "2999-01-01T09:00:00Z"}, "send_at"),
        ({"send_at": "2999-01-01T09:00:00"}, "send_at"),
        ({"category": "two words"}, "category"),
        ({"data": {"a": "x" * 16_380}}, "data"),
        ({"data": [1]}, "data"),
        ({"urgent": 1}, "urgent"),
        ({"to": "ada"}, "to"),
    ],
)
def test_a_wrong_message_is_refused_by_its_field(api: Api, inbox: Channel, given: dict[str, Any], field: str) -> None:
    refused = api.post("/notifications", message(inbox) | given)
    assert wrong_fields(refused) == [field]
    assert not Notification.objects.exists()


@pytest.mark.parametrize("fields", [{"verified_at": None}, {"disabled_at": NINE}, {"removed_at": NINE}])
def test_a_channel_that_cannot_be_used_is_refused(api: Api, ada: User, fields: dict[str, Any]) -> None:
    refused = api.post("/notifications", message(make_channel(ada, "webhook", **fields)))
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "channel_ids")


def test_a_person_sends_so_many_messages_a_day(api: Api, ada: User, inbox: Channel, settings: Settings) -> None:
    settings.SENDS_PER_PERSON_PER_DAY = 2
    outbox.notify(ada.pk, [inbox], "Rent", "", Notification.Origin.SCHEDULE)  # counts elsewhere
    answers = [api.post("/notifications", message(inbox)).status_code for _ in range(3)]
    assert answers == [202, 202, 429]
    assert Notification.objects.filter(origin="api").count() == 2


def test_what_has_not_gone_out_is_cancelled_and_the_rest_stays(api: Api, ada: User, inbox: Channel) -> None:
    sent = api.post("/notifications", message(inbox, make_channel(ada, "webhook"))).json()
    send_now(Delivery.objects.get(provider="inbox").id)
    done = api.post(f"/notifications/{sent['id']}/cancel").json()
    states = {one["kind"]: one["state"] for one in done["deliveries"]}
    assert states == {"inbox": "delivered", "webhook": "cancelled"}
    assert Delivery.objects.get(provider="webhook").reason_code == "cancelled"
    assert done["outcome"] == "full"
    assert api.post(f"/notifications/{sent['id']}/cancel").json() == done


def test_a_cancelled_one_that_is_being_sent_is_not_tried_again_and_tries_no_other_channel(
    api: Api, ada: User, inbox: Channel
) -> None:
    schedule = make_schedule(ada, [inbox, make_channel(ada, "webhook")], in_order=True, escalate_after=5)
    fire.fire_due(NINE)
    said = Notification.objects.get(origin_id=schedule.id)
    assert take(Delivery.objects.get().id) is not None
    assert api.post(f"/notifications/{said.id}/cancel").json()["deliveries"][0]["state"] == "sending"
    said.refresh_from_db()
    assert (said.withdrawn, said.advance_at) == ("cancelled", None)


def test_the_list_is_filtered_by_outcome_time_and_schedule(api: Api, ada: User, inbox: Channel) -> None:
    sent = api.post("/notifications", message(inbox)).json()["id"]
    send_now(Delivery.objects.get().id)
    waiting = api.post("/notifications", message(inbox)).json()["id"]
    schedule = make_schedule(ada, [inbox])
    fire.fire_due(NINE)

    def found(query: str) -> list[str]:
        return [one["id"] for one in api.get(f"/notifications?{query}").json()["items"]]

    assert found("outcome=full") == [sent]
    assert waiting in found("outcome=open") and sent not in found("outcome=open")
    assert len(found(f"schedule_id={schedule.id}")) == 1
    assert len(found("since=2026-01-01T00:00:00Z")) == len(found("since=1900-01-01T00:00:00Z")) == len(found("")) == 3
    assert found(f"since={written(timezone.now() + timedelta(hours=1))}") == []
    for wrong in ("outcome=lost", "since=today", "schedule=1", "limit=0"):
        assert api.get(f"/notifications?{wrong}").status_code == 422


def test_the_list_is_filtered_by_state_channel_end_and_tests(api: Api, ada: User, inbox: Channel) -> None:
    hook, others = make_channel(ada, "webhook", removed_at=timezone.now()), make_channel(make_user())
    arrived = make_delivery(inbox, state="delivered").notification_id
    died = make_delivery(hook, state="dead", cause="x").notification_id
    tried = make_delivery(hook, state="delivered", origin="test").notification_id
    make_delivery(others, state="dead", cause="x")
    past, coming = (written(timezone.now() + timedelta(hours=hours)) for hours in (-1, 1))
    for query, expected in (
        ("state=dead", {died}),
        ("state=delivered", {arrived, tried}),
        ("state=delivered&tests=false", {arrived}),
        ("tests=true", {tried}),
        ("tests=false", {arrived, died}),
        (f"channel_id={hook.id}", {died, tried}),
        (f"channel_id={hook.id}&tests=true&state=delivered", {tried}),
        (f"channel_id={hook.id}&outcome=failed", {died}),
        (f"channel_id={others.id}", set()),
        (f"until={coming}&state=dead", {died}),
        (f"until={past}", set()),
        (f"until={past}&state=dead", set()),
    ):
        found = {one["id"] for one in api.get(f"/notifications?{query}").json()["items"]}
        assert found == {str(key) for key in expected}, query
    for wrong in ("state=fired", "channel_id=inbox", "until=tomorrow", "tests=maybe", "state=dead&cursor=x"):
        assert api.get(f"/notifications?{wrong}").status_code == 422


def test_the_list_is_filtered_by_origin_and_by_words(api: Api, inbox: Channel) -> None:
    def found(query: str) -> set[str]:
        return {one["id"] for one in api.get(f"/notifications?{query}").json()["items"]}

    rent = str(make_delivery(inbox, subject="Pay the rent").notification_id)
    failed = str(make_delivery(make_channel(inbox.user, "webhook"), state="dead", origin="notice").notification_id)
    test = str(make_delivery(inbox, origin="test").notification_id)
    assert found("origin=schedule") == found("search=RENT") == {rent}
    assert found("origin=notice") == found("origin=notice&state=dead") == {failed}
    assert found("origin=schedule&state=dead") == found("search=rent&origin=notice") == set()
    assert found("tests=true") == {test}
    assert wrong_fields(api.get("/notifications?origin=mail")) == ["query.origin"]


def test_a_page_of_a_filter_without_an_index_leads_on(
    api: Api, inbox: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WINDOW", 3)
    old = str(make_delivery(inbox, origin="notice").notification_id)
    for _ in range(4):
        make_delivery(inbox)
    first = api.get("/notifications?origin=notice").json()
    second = api.get(f"/notifications?origin=notice&cursor={first['next']}").json()
    assert (first["items"], [one["id"] for one in second["items"]]) == ([], [old])


def test_status_webhooks_do_not_fill_the_list_unless_it_is_asked_for(api: Api, ada: User, inbox: Channel) -> None:
    hook = make_channel(ada, "status", {"secret": "whsec_" + "c2VjcmV0" * 4, "path": "/"}, address={"types": ["*"]})
    told = str(make_delivery(hook, origin="status", state="dead").notification_id)
    arrived = str(make_delivery(inbox, state="delivered").notification_id)
    for query, expected in (
        ("", [arrived]),
        ("state=dead", []),
        ("tests=false", [arrived]),
        ("outcome=failed", []),
        ("origin=status", [told]),
        (f"channel_id={hook.id}", [told]),
    ):
        found = [one["id"] for one in api.get(f"/notifications?{query}").json()["items"]]
        assert found == expected, query


def test_an_empty_cursor_is_none_beside_a_state(api: Api, inbox: Channel) -> None:
    make_delivery(inbox, state="delivered")
    assert len(api.get("/notifications?state=delivered&cursor=").json()["items"]) == 1


@pytest.mark.parametrize("asked", ["", "&state=delivered"])
def test_the_pages_of_a_long_list_show_each_one_once(api: Api, inbox: Channel, asked: str) -> None:
    made = [str(make_delivery(inbox, state="delivered").notification_id) for _ in range(130)]
    found, path = [], f"/notifications?limit=60{asked}"
    while path:
        answer = api.get(path)
        found += [one["id"] for one in answer.json()["items"]]
        following = answer.json()["next"]
        path = f"/notifications?limit=60{asked}&cursor={following}" if following else ""
    assert found == made[::-1]


def test_the_pages_of_the_list_show_each_one_once(api: Api, inbox: Channel) -> None:
    sent = {api.post("/notifications", message(inbox)).json()["id"] for _ in range(5)}
    seen, path = [], "/notifications?limit=2"
    while path:
        page = api.get(path)
        seen += [one["id"] for one in page.json()["items"]]
        path = f"/notifications?limit=2&cursor={page.json()['next']}" if page.json()["next"] else ""
    assert (set(seen), len(seen)) == (sent, 5)


def test_sending_takes_six_statements_and_listing_four(api: Api, ada: User, inbox: Channel) -> None:
    hook = make_channel(ada, "webhook")
    for _ in range(5):
        api.post("/notifications", message(inbox, hook))
    with at_most(6):
        api.post("/notifications", message(inbox, hook))
    with at_most(4):
        assert len(api.get("/notifications").json()["items"]) == 6


def test_a_batch_counts_what_is_its_callers(api: Api, ada: User, inbox: Channel) -> None:
    hook, chat, phone = (make_channel(ada, "webhook") for _ in range(3))
    batch = api.post("/notifications", message(inbox, hook, chat, phone)).json()["batch_id"]
    outbox.record(
        [
            outbox.NewNotification(
                user_id=make_user().pk,
                channels=[],
                subject="",
                body="",
                origin=Notification.Origin.API,
                batch_id=Notification.objects.get().batch_id,
            )
        ]
    )
    send_now(Delivery.objects.get(channel=inbox).id)
    Channel.objects.filter(id=hook.id).update(disabled_at=timezone.now())
    send_now(Delivery.objects.get(channel=hook).id)
    take(Delivery.objects.get(channel=chat).id)
    shown = api.get(f"/batches/{batch}").json()
    counts = {"pending": 1, "processing": 1, "completed": 1, "failed": 1, "dropped": 0, "total": 4, "percent": 50.0}
    of_audiences = dict.fromkeys(("title", "audience", "state", "size", "told", "started_at", "ended_at"))
    assert shown == {"id": batch} | counts | of_audiences
    assert api.post(f"/batches/{batch}/cancel").json() == shown | {"pending": 0, "dropped": 1, "percent": 75.0}
    assert Api(make_user()).get(f"/batches/{batch}").status_code == 404


def test_a_run_that_sent_nothing_is_an_empty_batch(api: Api, ada: User) -> None:
    schedule = make_schedule(ada, [make_channel(ada, "webhook")])
    Channel.objects.update(removed_at=timezone.now())
    fire.fire_due(NINE)
    shown = api.get(f"/batches/{schedule.occurrences.get().id}").json()
    assert (shown["total"], shown["percent"]) == (0, 100.0)
