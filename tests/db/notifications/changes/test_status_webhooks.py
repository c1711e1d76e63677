"""Status webhooks: each change is sent once to those who follow it, and never what was sent to them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from demo.receivers import HTTPReceiver, Reply
from notifications.changes import feed
from notifications.channels import owner_notices, verification
from notifications.models import Change, Channel, Delivery, Notification
from people.models import User
from schedules.inputs.reminder_form import ReminderForm
from tests.db.api import documented
from tests.db.notifications.conftest import send_all
from tests.make import NOON, make_channel, make_delivery, make_user, settle, signed_in, taken

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture
def ada() -> User:
    return make_user(email="ada@example.org")


def make_webhook(user: User, *types: str, url: str = "https://example.org/hook", **address: Any) -> Channel:
    followed = {"url": url, "types": list(types) or ["delivery.*"]} | address
    return make_channel(user, "status", {"secret": SECRET}, address=followed)


def finish(channel: Channel, state: str = "delivered") -> Delivery:
    delivery = make_delivery(channel)
    settle(taken(delivery.id), state)
    return delivery


def send_until_current() -> None:
    """Send what has changed so far; a transaction of another test may hold it back."""
    last, deadline = Change.objects.order_by("xact", "id").last(), time.monotonic() + 60
    assert last is not None
    while time.monotonic() < deadline:
        feed.send_changes()
        with connection.cursor() as cursor:
            cursor.execute("SELECT xact >= %s FROM notifications_feedposition WHERE reader = 'status'", [last.xact])
            if cursor.fetchone()[0]:
                return
    raise AssertionError("the changes were held back")


def sent(channel: Channel) -> list[str]:
    found = Delivery.objects.filter(channel=channel, notification__origin="status").order_by("notification__id")
    return list(found.values_list("notification__subject", flat=True))


def test_messages_and_codes_are_posted_as_the_document_says(ada: User, receiver: HTTPReceiver) -> None:
    hook = make_channel(ada, "webhook", {"secret": SECRET}, address={"url": receiver.url})
    other = make_channel(ada, "webhook", {"secret": SECRET}, address={"url": receiver.url, "cloudevents": True})
    for channel in (hook, other):
        make_delivery(channel, slot=NOON, data='{"room": "kitchen"}')
    for channel in (hook, make_webhook(ada, url=receiver.url)):
        verification.send_code(channel, timezone.now())
    send_all()
    assert len(receiver.requests) == 4
    for request in receiver.requests:
        documented.check_post("notification", request)


def test_a_change_goes_signed_to_the_one_who_follows_its_type(
    ada: User, receiver: HTTPReceiver, settings: Settings
) -> None:
    webhook = make_webhook(ada, "delivery.*", url=receiver.url)
    other = make_webhook(ada, "schedule.*", "notification.failed")
    make_webhook(make_user())
    delivery = finish(make_channel(ada, "email"))
    send_until_current()
    assert (sent(webhook), sent(other)) == (["delivery.delivered"], [])
    assert Delivery.objects.filter(notification__origin="status").count() == 1
    send_all()
    [request] = receiver.requests
    documented.check_post("change", request)
    document = request.verified(SECRET)
    change = Change.objects.get(type="delivery.delivered")
    assert (document["id"], document["type"]) == (str(change.id), "delivery.delivered")
    assert document["data"] == change.data
    assert document["data"]["delivery_id"] == str(delivery.id)
    assert request.headers["webhook-id"] == str(Delivery.objects.get(channel=webhook).id)


def test_what_is_sent_to_a_status_webhook_is_no_change(ada: User, receiver: HTTPReceiver) -> None:
    webhook = make_webhook(ada, "delivery.*", "notification.*", "channel.*", url=receiver.url)
    make_webhook(
        make_user(is_staff=True, is_superuser=True), "delivery.*", "notification.*", everybody=True, url=receiver.url
    )
    finish(make_channel(ada, "email"), "dead")
    send_until_current()
    assert set(sent(webhook)) == {"channel.added", "delivery.dead", "notification.failed"}
    before = Change.objects.count()
    receiver.answer = Reply(400)
    send_all()
    assert Delivery.objects.filter(provider="status", state="dead").count() == 6  # its own addition too
    assert Change.objects.count() == before
    send_until_current()
    assert Notification.objects.filter(origin="status").count() == 6  # its own addition too


def test_each_change_is_sent_once_however_many_send_at_once(ada: User) -> None:
    webhook, email = make_webhook(ada), make_channel(ada, "email")
    for _ in range(30):
        finish(email)

    def send(_: int) -> None:
        feed.send_changes()
        connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(16)))
    send_until_current()
    assert sent(webhook) == ["delivery.delivered"] * 30


def test_a_chunk_that_dies_before_its_commit_is_sent_by_the_next(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    webhook = make_webhook(ada)
    finish(make_channel(ada, "email"))
    send_until_current()
    finish(make_channel(ada, "webhook"))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(feed, "publish_after_commit", die)
        while True:  # until another test's transaction no longer holds the change back
            feed.send_changes()
    assert len(sent(webhook)) == 1
    send_until_current()
    assert len(sent(webhook)) == 2


def test_a_change_that_commits_late_is_sent_too(ada: User) -> None:
    webhook, email = make_webhook(ada), make_channel(ada, "email")
    settled, go_on = threading.Event(), threading.Event()
    claim = taken(make_delivery(email).id)

    def commit_late() -> None:
        with transaction.atomic():
            settle(claim, "dead")
            settled.set()
            go_on.wait(60)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(commit_late)
        settled.wait(60)
        finish(email)
        feed.send_changes()
        assert sent(webhook) == []
        go_on.set()
        late.result()
    send_until_current()
    assert sorted(sent(webhook)) == ["delivery.dead", "delivery.delivered"]


def test_only_an_operator_gets_everybodys_changes(ada: User) -> None:
    operator, clerk, staff = make_user(is_staff=True), make_user(), make_user(is_staff=True)
    permissions = Permission.objects.filter(
        codename__in=("view_channel", "view_delivery", "view_notification", "view_schedule")
    )
    own, of_group = permissions.filter(codename="view_channel"), permissions.exclude(codename="view_channel")
    operator.user_permissions.set(own)
    group = Group.objects.create(name="Operators")
    group.permissions.set(of_group)
    operator.groups.add(group)
    staff.user_permissions.set(of_group)
    clerk.user_permissions.set(permissions)
    of_operator, of_clerk = make_webhook(operator, everybody=True), make_webhook(clerk, everybody=True)
    of_staff = make_webhook(staff, everybody=True)
    finish(make_channel(ada, "email"))
    send_until_current()
    assert (sent(of_operator), sent(of_clerk), sent(of_staff)) == (["delivery.delivered"], [], [])
    group.permissions.remove(permissions.get(codename="view_delivery"))
    finish(make_channel(ada, "webhook"))
    send_until_current()
    assert len(sent(of_operator)) == 1


@pytest.mark.parametrize("marks", [{"disabled_at": NOON}, {"removed_at": NOON}, {"verified_at": None}])
def test_a_webhook_that_is_not_usable_gets_nothing(ada: User, marks: dict[str, Any]) -> None:
    webhook, usable = make_webhook(ada), make_webhook(ada)
    Channel.objects.filter(id=webhook.id).update(**marks)
    finish(make_channel(ada, "email"))
    send_until_current()
    assert (sent(webhook), sent(usable)) == ([], ["delivery.delivered"])


@pytest.mark.parametrize("types", [None, 5, "delivery.*", {"delivery.*": 1}, [None, ["delivery.*"]]])
def test_a_damaged_webhook_holds_nobody_up(ada: User, types: object) -> None:
    damaged, webhook = make_webhook(ada), make_webhook(make_user(is_staff=True, is_superuser=True), everybody=True)
    Channel.objects.filter(id=damaged.id).update(address={"types": types})
    finish(make_channel(ada, "email"))
    send_until_current()
    assert sent(webhook) == ["delivery.delivered"]


def test_a_position_of_another_database_starts_afresh_and_repeats_nothing(ada: User) -> None:
    webhook = make_webhook(ada)
    finish(make_channel(ada, "email"))
    send_until_current()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE notifications_feedposition SET xact = %s", [2**62])
    feed.send_changes()
    assert sent(webhook) == ["delivery.delivered"]
    finish(make_channel(ada, "webhook"))
    deadline = time.monotonic() + 60
    while len(sent(webhook)) < 2 and time.monotonic() < deadline:
        feed.send_changes()
    assert sent(webhook) == ["delivery.delivered"] * 2


def test_a_dead_one_is_seen_in_the_history_and_its_owner_is_told(ada: User, receiver: HTTPReceiver) -> None:
    make_webhook(ada, url=receiver.url)
    inbox = make_channel(ada)
    finish(inbox)
    send_until_current()
    receiver.answer = Reply(400)
    send_all()
    browser = signed_in(ada)
    assert "delivery.delivered" in browser.get("/history/?state=failed").content.decode()
    assert "delivery.delivered" not in browser.get("/history/").content.decode()
    assert owner_notices.tell_owners(NOON) == 1
    notice = Notification.objects.get(origin="notice")
    assert [one.channel for one in notice.deliveries.all()] == [inbox]


def test_no_reminder_can_choose_it(ada: User) -> None:
    webhook = make_webhook(ada)
    form = ReminderForm({"channels": [str(webhook.id)]}, user=ada, now=NOON)
    assert "channels" in form.errors


def test_only_an_operator_can_ask_for_everybodys(ada: User, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    typed = {"url": "https://example.org/hook", "types": "delivery.*", "everybody": "on"}
    answer = signed_in(ada).post("/channels/new/status/", typed)
    assert "Only an operator" in answer.content.decode()
    assert not Channel.objects.filter(provider="status").exists()
    answer = signed_in(make_user(is_staff=True)).post("/channels/new/status/", typed)
    assert "Only an operator" in answer.content.decode()
    browser: Client = signed_in(make_user(is_staff=True, is_superuser=True))
    assert browser.post("/channels/new/status/", typed).status_code == 302
    channel = Channel.objects.get(provider="status")
    assert channel.address["everybody"] is True and channel.verified_at is None
