"""The client against a real web process."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from carillon_client import Client, Problem, Unreachable
from carillon_client.aio import AsyncClient
from carillon_client.schedules import instant
from django.utils import timezone

from api.models import StoredAnswer
from events.kinds.event import EVENT
from events.models import Event, FlowSettings, Run
from notifications.models import Channel, Notification
from people import codes
from people.models import Code, User
from schedules.models import Schedule
from tests.make import disabled, happen, make_channel, make_delivery, make_failed_step, make_rule
from tests.process.web import Web
from work.engine import runner

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_schedule_through_its_life(client: Client, ada: User) -> None:
    channel = str(make_channel(ada).id)
    fields: Any = {
        "title": "Plants",
        "timing": {"daily": {"time": "09:00"}},
        "channel_ids": [channel],
        "time_zone": "UTC",
    }
    assert len(client.schedules.preview(**fields, count=3)["runs"]) == 3
    made = client.schedules.create(**fields)
    assert client.schedules.read(made["id"])["title"] == "Plants"
    changed = client.schedules.change(made["id"], made["version"], title="The plants")
    assert (changed["title"], changed["timing"]) == ("The plants", made["timing"])
    with pytest.raises(Problem) as caught:
        client.schedules.change(made["id"], made["version"], title="Lost")
    assert (caught.value.status, caught.value.document["current"]["title"]) == (412, "The plants")
    assert client.schedules.replace(made["id"], **fields | {"urgent": True})["urgent"]
    slot = changed["next_run_at"]
    assert slot is not None
    assert client.schedules.skip(made["id"], slot)["next_run_at"] != slot
    assert client.schedules.unskip(made["id"], slot)["next_run_at"] == slot
    assert client.schedules.snooze(made["id"], timezone.now() + timedelta(days=2))["snooze_ends_at"]
    assert client.schedules.resume(made["id"])["snooze_ends_at"] is None
    assert client.schedules.pause(made["id"])["state"] == "paused"
    assert client.schedules.resume(made["id"])["state"] == "active"
    occurrence = client.schedules.run(made["id"])
    assert client.schedules.done(made["id"])["id"] == client.schedules.undo_done(made["id"])["id"] == made["id"]
    assert [one["id"] for one in client.schedules.occurrences(made["id"])] == [occurrence["id"]]
    assert [one["outcome"] for one in client.schedules.explain(made["id"])] == ["fired"]
    assert len(client.schedules.upcoming(made["id"], 4)) == 4
    client.schedules.delete(made["id"])
    assert not list(client.schedules.list())
    assert client.schedules.restore(made["id"])["active"]


def test_messages_and_dead_letters(client: Client, ada: User) -> None:
    channel = str(make_channel(ada).id)
    assert [one["kind"] for one in client.channels.list()] == ["inbox"]
    sent = client.notifications.send("Done", [channel], send_at=timezone.now() + timedelta(hours=1))
    assert client.batches.read(sent["batch_id"])["pending"] == 1
    assert client.notifications.cancel(sent["id"])["outcome"] == "dropped"
    assert [one["id"] for one in client.notifications.list(outcome="dropped")] == [sent["id"]]
    letters = [make_delivery(make_channel(ada, "webhook", label=f"Hook {n}"), state="dead") for n in range(3)]
    [cause] = {one["cause"] for one in client.dead_letters.causes()}
    again, fixed = (str(one.id) for one in letters[:2])
    assert client.dead_letters.replay(again)["state"] == "pending"
    assert client.dead_letters.mark_fixed(fixed, "By phone.")["state"] == "cancelled"
    assert client.dead_letters.replay_all(cause=cause)["replayed"] + len(list(client.dead_letters.list())) == 1


def test_the_inbox_is_read_and_answered(client: Client, ada: User) -> None:
    message = make_delivery(make_channel(ada), state="delivered")
    sent = str(message.notification_id)
    assert [one["id"] for one in client.inbox.list(unread=True)] == [str(message.id)]
    assert client.inbox.read(str(message.id))["read_at"] is None
    assert client.inbox.mark_read(str(message.id))["read_at"] is not None
    assert client.inbox.mark_all_read() == 0
    assert [one["id"] for one in client.notifications.list(origin="schedule", search="plants")] == [sent]
    assert client.notifications.snooze(sent, timezone.now() + timedelta(hours=1))["snooze_ends_at"] is not None
    with pytest.raises(Problem, match="answered before"):
        client.notifications.acknowledge(sent)
    with pytest.raises(Problem, match="not an announcement"):
        client.notifications.stop_announcements(sent)
    assert client.dead_letters.read(str(message.id))["state"] == "delivered"


def test_tokens_and_settings(client: Client, ada: User, web: Web) -> None:
    made = client.tokens.create("Backup", ["read"], expires_at=timezone.now() + timedelta(days=1))
    assert client.tokens.read(made["id"])["scopes"] == ["read"]
    rotated = client.tokens.rotate(made["id"])
    with Client(f"http://127.0.0.1:{web.port}", rotated["token"], tries=3) as other:
        assert other.me()["token"]["made_by_id"] == client.me()["token"]["id"]
    client.tokens.revoke(made["id"])
    assert [one["id"] for one in client.tokens.list()] == [client.me()["token"]["id"]]
    assert client.change_settings(quiet_from="22:00", quiet_until="07:00")["quiet_from"] == "22:00"
    assert client.settings()["quiet_until"] == "07:00"
    assert list(client.batches.audiences()) == []


def test_events_and_rules(client: Client, ada: User) -> None:
    fields: Any = {
        "name": "Orders",
        "type_pattern": "order.*",
        "title": "Order",
        "channel_ids": [str(make_channel(ada).id)],
    }
    assert client.rules.preview(event={"type": "order.paid"}, **fields)["rings"]
    made = client.rules.create(**fields)
    assert client.rules.change(made["id"], made["version"], title="Paid")["title"] == "Paid"
    assert client.rules.replace(made["id"], **fields)["title"] == "Order"
    assert not client.rules.disable(made["id"])["enabled"]
    assert client.rules.enable(made["id"])["enabled"]
    [event_id] = client.events.publish({"type": "order.paid", "data": {"order_id": 7}})
    assert client.events.read(event_id)["data"] == {"order_id": 7}
    assert [one["id"] for one in client.events.list("order.paid")] == [event_id]
    assert client.rules.preview(event_id=event_id, **fields)["rings"]
    client.rules.delete(made["id"])
    assert not list(client.rules.list())
    assert client.rules.restore(made["id"]) == client.rules.read(made["id"])


def test_a_dead_letter_is_sent_as_new_or_discarded_and_a_batch_cancelled(client: Client, ada: User) -> None:
    first, second = (make_delivery(make_channel(ada, "webhook", label=f"Hook {n}"), state="dead") for n in range(2))
    new = client.dead_letters.send_as_new(str(first.id))
    assert (new["state"], new["id"] == str(first.id)) == ("pending", False)
    assert client.dead_letters.discard(str(second.id), "Too late.")["reason"]["code"] == "discarded"
    assert not list(client.dead_letters.list())
    waiting = make_delivery(make_channel(ada))
    assert client.batches.cancel(str(waiting.notification.batch_id))["dropped"] == 1


def test_a_channel_is_verified_enabled_and_gets_a_new_secret(client: Client, ada: User) -> None:
    fields = {"url": f"https://127.0.0.1:8443/{uuid4().hex}"}  # codes to one address are counted for a day
    made = client.channels.add("webhook", fields, "Hook", key="hook")
    assert client.channels.add("webhook", fields, "Hook", key="hook") == made
    earlier = timezone.now() - timedelta(minutes=2)
    Code.objects.update(made_at=earlier)  # within a minute, the client would wait
    Notification.objects.update(created_at=earlier)
    client.channels.send_code(made["id"])
    code = Code.objects.get(subject=made["id"])
    assert client.channels.verify(made["id"], codes.reveal(codes.MARK, code.subject, code.nonce))["state"] == "ready"
    replaced = client.channels.replace_secret(made["id"], key="secret")
    assert replaced["secret"] not in (made["secret"], None)
    assert client.channels.replace_secret(made["id"], key="secret") == replaced
    Channel.objects.update(
        disabled_at=timezone.now(), failing_since=timezone.now(), **disabled("It answered 410 Gone.")
    )
    assert client.channels.read(made["id"])["state"] == "disabled"
    assert client.channels.enable(made["id"])["state"] == "ready"


def test_an_event_its_replay_and_its_trace(client: Client, ada: User) -> None:
    make_rule(ada)
    [event] = client.events.publish({"type": "order.paid", "data": {"amount": 3}})
    runner.run(EVENT, Event.objects.get(key=event).id, "worker")
    assert [one["outcome"] for one in client.events.read(event)["effects"]] == ["silent"]
    again = client.events.replay(event)
    assert [one["id"] for one in client.events.list("order.paid")] == [again, event]
    assert [(row["id"], len(row["tries"])) for row in client.events.trace(event)["items"]] == [(event, 1), (again, 0)]


def test_incidents_and_their_runs(client: Client, ada: User) -> None:
    FlowSettings.objects.create(user=ada, flow="incident", settings={"channels": [str(make_channel(ada).id)]})
    happen(ada, type="alert.raised", data={"key": "disk", "title": "Disk full"})
    [incident] = client.runs.list(flow="incident", phase="open")
    assert client.runs.acknowledge(incident["id"])["title"] == "Disk full"
    assert client.runs.resolve(incident["id"])["state"] == "waiting"
    assert client.runs.read(incident["id"])["data"]["raised"] == 1
    run = Run.objects.get()
    retried, skipped = (str(make_failed_step(run, key=key).id) for key in "ab")
    assert client.runs.retry_step(incident["id"], retried)["state"] == "pending"
    assert client.runs.skip_step(incident["id"], skipped)["state"] == "cancelled"
    assert client.runs.end(incident["id"], "Gone.")["ended_at"]


def test_channels(client: Client, ada: User) -> None:
    assert "webhook" in {one["kind"] for one in client.channels.kinds()}
    inbox = client.channels.add("inbox", {}, "Mine")
    assert client.channels.read(inbox["id"])["state"] == "ready"
    assert client.channels.change(inbox["id"], label="Yours")["label"] == "Yours"
    told = client.channels.test(inbox["id"])
    assert client.notifications.read(told["notification_id"])["deliveries"][0]["id"] == told["delivery_id"]
    client.channels.remove(inbox["id"])
    assert not list(client.channels.list())


def test_a_list_reads_the_pages_that_it_needs(client: Client, ada: User) -> None:
    channel = str(make_channel(ada).id)
    for number in range(53):
        timing = {"cron": {"expression": f"{number} 9 * * *"}}
        client.schedules.create(title=f"Number {number}", timing=timing, channel_ids=[channel])
    titles = [one["title"] for one in client.schedules.list(search="Number")]
    assert titles == [f"Number {number}" for number in reversed(range(53))]
    assert next(client.schedules.list(due_before=timezone.now() + timedelta(days=2)))["title"] == "Number 52"


def test_a_refusal_names_each_field(client: Client) -> None:
    with pytest.raises(Problem) as caught:
        client.schedules.create(title="", timing={"daily": {"time": "nine"}}, channel_ids=[])
    assert (caught.value.status, caught.value.code) == (422, "invalid")
    assert {field for field, _ in caught.value.errors} >= {"title", "timing.daily.time", "channel_ids"}


def test_a_create_whose_answer_is_lost_is_repeated_and_made_once(client: Client, web: Web, ada: User) -> None:
    """The server is killed while the client waits, and comes back; the key of the first try finds what it made."""
    channel = str(make_channel(ada).id)
    fields: Any = {"title": "Rent", "timing": {"daily": {"time": "09:00"}}, "channel_ids": [channel]}
    first = client.schedules.create(**fields, key="rent")
    web.kill()
    web.child.stop(0.0)
    with pytest.raises(Unreachable):
        client.schedules.create(**fields, key="rent")
    web.restart()
    assert client.schedules.create(**fields, key="rent")["id"] == first["id"]
    assert Schedule.objects.count() == 1


def test_each_post_carries_a_key(client: Client, ada: User) -> None:
    made = client.schedules.create(
        title="Rent", timing={"intervalMinutes": 30}, channel_ids=[str(make_channel(ada).id)]
    )
    client.schedules.pause(made["id"])
    assert StoredAnswer.objects.count() == 2


def test_over_the_limit_the_client_waits_as_long_as_the_server_says(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with Web(API_REQUESTS_PER_MINUTE="2") as web, Client(f"http://127.0.0.1:{web.port}", token, tries=3) as client:
        client.me()
        client.me()
        with pytest.raises(Problem) as caught:
            client.me()
    assert caught.value.status == 429
    assert [wait for wait in waits if wait > 30] == waits[-2:]


def test_another_server_is_no_answer(web: Web, token: str) -> None:
    with Client(f"http://127.0.0.1:{web.port}/elsewhere", token, tries=1) as client, pytest.raises(Unreachable):
        client.me()


def test_the_client_keeps_instants_apart_from_civil_times() -> None:
    with pytest.raises(ValueError, match="time zone"):
        instant(timezone.now().replace(tzinfo=None))


def test_topics_and_subscriptions(client: Client, ada: User) -> None:
    channel = make_channel(ada)
    topic = client.topics.create("news", name="News", is_open=True)
    assert client.topics.change("news", name="Club")["name"] == "Club"
    added = client.topics.add("news", "bob@example.org")
    assert [one["address"] for one in client.topics.added("news")] == ["bob@example.org"]
    client.topics.remove("news", added["id"])
    assert [one["id"] for one in client.subscriptions.topics()] == [topic["id"]]
    own = client.subscriptions.subscribe(topic["id"], [str(channel.id)])
    assert (list(client.subscriptions.list()), client.topics.read("news")["subscribers"]) == ([own], 1)
    client.subscriptions.leave(topic["id"])
    client.topics.delete("news")
    assert list(client.topics.list()) == []


def test_holidays(client: Client) -> None:
    planned = client.holidays.create(first="2090-08-03", last="2090-08-17", note="Italy")
    assert list(client.holidays.list()) == [planned]
    client.holidays.delete(planned["id"])
    assert list(client.holidays.list()) == []


def test_connections_inbound_addresses_and_status_webhooks(client: Client, ada: User) -> None:
    assert "github" in {one["kind"] for one in client.connections.kinds()}
    made = client.connections.add("address", {"url": "https://127.0.0.1:8443/"}, "Mine")
    assert (made["state"], client.connections.read(made["id"])) == ("unchecked", made)
    assert client.connections.change(made["id"], label="Yours")["label"] == "Yours"
    assert client.connections.check(made["id"])["state"] == "failing"
    client.connections.remove(made["id"])
    assert not list(client.connections.list())

    address = client.inbound.create(label="Anything")
    assert client.inbound.replace(address["id"], label="Things")["label"] == "Things"
    assert client.inbound.replace_url(address["id"])["url"] != address["url"]
    assert [one["id"] for one in client.inbound.list()] == [address["id"]]
    assert list(client.inbound.requests(address["id"])) == []
    client.inbound.remove(address["id"])

    webhook = client.status_webhooks.add(url=f"https://127.0.0.1:8443/{uuid4().hex}", types=["delivery.*"], key="hook")
    code = Code.objects.get(subject=webhook["id"])
    shown = client.status_webhooks.verify(webhook["id"], codes.reveal(codes.MARK, code.subject, code.nonce))
    assert (shown["state"], client.status_webhooks.read(webhook["id"])["state"]) == ("enabled", "enabled")
    assert client.status_webhooks.change(webhook["id"], types=["schedule.fired"])["types"] == ["schedule.fired"]
    assert client.status_webhooks.test(webhook["id"])
    client.status_webhooks.remove(webhook["id"])
    assert not list(client.status_webhooks.list())


def test_kinds_of_job_bulk_and_changes(client: Client, ada: User) -> None:
    assert "feed" in {one["name"] for one in client.job_kinds.list()}
    channel = str(make_channel(ada).id)
    pages = client.changes.follow(types=["schedule.*"], pause=0.0)
    made = [
        client.schedules.create(title=title, timing={"daily": {"time": "09:00"}}, channel_ids=[channel])["id"]
        for title in ("One", "Two")
    ]
    done = client.schedules.bulk([*made, str(uuid4())], "pause")
    assert (done["changed_ids"], len(done["unknown_ids"])) == (made, 1)
    seen: list[str] = []
    while len(seen) < 4:
        seen += [one["type"] for one in next(pages)["items"]]
    assert seen == ["schedule.created"] * 2 + ["schedule.paused"] * 2
    with pytest.raises(Problem) as caught:
        client.schedules.check(made[0])
    assert caught.value.status == 409


def test_the_client_for_asyncio_does_the_same(web: Web, token: str, ada: User) -> None:
    channel = str(make_channel(ada).id)
    fields: Any = {"title": "Plants", "timing": {"daily": {"time": "09:00"}}, "channel_ids": [channel]}

    async def life() -> list[str]:
        async with AsyncClient(f"http://127.0.0.1:{web.port}", token, tries=3) as client:
            made = await asyncio.gather(*(client.schedules.create(**fields, key=f"{number}") for number in range(3)))
            again = await client.schedules.create(**fields, key="0")
            assert again == made[0]
            assert (await client.schedules.pause(made[0]["id"]))["state"] == "paused"
            with pytest.raises(Problem) as caught:
                await client.schedules.change(made[0]["id"], 1, title="Lost")
            assert caught.value.status == 412
            async for page in client.changes.follow(types=["schedule.created"]):
                assert len(page["items"]) == 3
                break
            await client.schedules.delete(made[1]["id"])
            return [one["title"] async for one in client.schedules.list()]

    assert asyncio.run(life()) == ["Plants", "Plants"]
    with pytest.raises(Unreachable):
        asyncio.run(AsyncClient("http://127.0.0.1:9", token, tries=1).me())
