"""Owners are told once a day for a channel and a cause, elsewhere; operators once a day, if anything waits."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from datetime import time, timedelta

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone
from pytest_django import Settings

from common.redis import served_queues
from notifications.channels import changes, owner_notices
from notifications.models import Channel, Delivery, Notification
from people.models import User
from tests.make import make_channel, make_delivery, make_user
from work.operators import summary as operator_summary

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def served(settings: Settings) -> None:
    served_queues.announce(settings.QUEUES)


@pytest.fixture
def chat(ada: User) -> Channel:
    return make_channel(ada, "webhook", label="Chat", failing_since=timezone.now())


def make_dead(channel: Channel, reason: str = "The bot was blocked.", **overrides: object) -> Delivery:
    return make_delivery(channel, **{"state": "dead", "reason": reason, "settled_at": timezone.now()} | overrides)


def told() -> list[tuple[str, str]]:
    rows = Delivery.objects.filter(notification__origin="notice").order_by("id")
    return [(row.channel.label, row.notification.subject) for row in rows.select_related("channel", "notification")]


def test_ten_letters_of_one_cause_are_one_notice_on_a_channel_that_works_and_in_the_inbox(
    ada: User, chat: Channel
) -> None:
    make_channel(ada)
    make_channel(ada, "email", label="Mail")
    for _ in range(10):
        make_dead(chat)
    assert owner_notices.tell_owners(timezone.now()) == 2
    assert owner_notices.tell_owners(timezone.now()) == 0
    assert sorted(told()) == [("Inbox", "“Chat” does not work"), ("Mail", "“Chat” does not work")]
    body = Notification.objects.get(origin="notice").body
    assert "“Water the plants” did not arrive there. The bot was blocked." in body


def test_another_cause_another_channel_and_another_day_are_told_apart(ada: User, chat: Channel) -> None:
    make_channel(ada)
    other = make_channel(ada, "webhook", label="Other", failing_since=timezone.now())
    make_dead(chat)
    make_dead(chat, cause="webhook-http-404")
    make_dead(other)
    make_dead(chat, settled_at=timezone.now() - timedelta(hours=23, minutes=59))
    make_dead(chat, settled_at=timezone.now() - timedelta(hours=25))
    assert owner_notices.tell_owners(timezone.now()) == 4


def test_nobody_is_told_on_a_channel_that_does_not_work(ada: User, chat: Channel) -> None:
    make_channel(ada, "email", disabled_at=timezone.now() - timedelta(days=9))
    make_channel(ada, "webhook", verified_at=None)
    make_channel(ada, "webhook", failing_since=timezone.now())
    make_channel(ada, "webhook", removed_at=timezone.now())
    make_channel(make_user(), "email")
    make_channel(ada, "queue")  # a program would get it
    make_dead(chat)
    assert owner_notices.tell_owners(timezone.now()) == 0


def test_a_notice_that_does_not_arrive_and_a_test_are_not_told_of(ada: User, chat: Channel) -> None:
    make_channel(ada)
    for origin in (Notification.Origin.NOTICE, Notification.Origin.TEST):
        make_dead(chat, origin=origin)
    assert owner_notices.tell_owners(timezone.now()) == 0


def test_a_disabled_channel_is_told_of_once_with_its_reason_and_not_for_each_cause(ada: User, chat: Channel) -> None:
    make_channel(ada)
    make_channel(ada, "webhook", disabled_at=timezone.now(), removed_at=timezone.now())
    make_dead(chat)
    changes.disable([chat.id], "Its service says that it is gone.")
    Channel.objects.filter(id=chat.id).update(failing_since=timezone.now())  # as failures disable it
    assert owner_notices.tell_owners(timezone.now()) == 1
    assert owner_notices.tell_owners(timezone.now()) == 0
    assert told() == [("Inbox", "“Chat” is disabled")]
    body = Notification.objects.get(origin="notice").body
    assert "Its service says that it is gone." in body
    assert f"/channels/{chat.id}/" in body


AT_THREE = timezone.now().replace(hour=3)


@pytest.fixture
def sleeper(ada: User, chat: Channel) -> User:
    """Ada, in her quiet hours at three, with an email channel."""
    User.objects.filter(pk=ada.pk).update(time_zone="UTC", quiet_from=time(0, 0), quiet_until=time(23, 59))
    make_channel(ada, "email", label="Mail")
    return ada


def dead_beside_one_that_arrived(chat: Channel) -> None:
    dead = make_dead(chat)
    Notification.objects.filter(id=dead.notification_id).update(outcome="partial")


def states() -> list[tuple[str, str]]:
    rows = Delivery.objects.filter(notification__origin="notice").order_by("channel__label")
    return [(row.channel.label, row.reason_code or row.state) for row in rows.select_related("channel")]


def test_quiet_hours_hold_a_notice_that_the_inbox_has_about_a_message_that_arrived_elsewhere(
    sleeper: User, chat: Channel
) -> None:
    make_channel(sleeper)
    dead_beside_one_that_arrived(chat)
    owner_notices.tell_owners(AT_THREE)
    assert states() == [("Inbox", "pending"), ("Mail", "quiet-hours")]


def test_quiet_hours_do_not_hold_a_notice_where_nothing_else_tells(sleeper: User, chat: Channel) -> None:
    dead_beside_one_that_arrived(chat)
    owner_notices.tell_owners(AT_THREE)
    assert states() == [("Mail", "pending")]


@pytest.mark.parametrize("is_disabled", [False, True])
def test_quiet_hours_do_not_hold_the_notice_about_a_message_that_reached_nobody(
    sleeper: User, chat: Channel, is_disabled: bool
) -> None:
    make_channel(sleeper)
    dead = make_dead(chat)
    Notification.objects.filter(id=dead.notification_id).update(outcome="failed")
    if is_disabled:
        changes.disable([chat.id], "Its service says that it is gone.")
    owner_notices.tell_owners(AT_THREE)
    assert states() == [("Inbox", "pending"), ("Mail", "pending")]


def test_a_notice_is_not_recorded_once_its_channel_works_again(ada: User, chat: Channel) -> None:
    make_channel(ada)
    make_dead(chat)
    Channel.objects.filter(id=chat.id).update(failing_since=None)
    assert owner_notices.tell_owners(timezone.now()) == 0


def test_a_failure_of_carillon_itself_is_told_although_its_channel_works(ada: User, chat: Channel) -> None:
    make_channel(ada)
    fault = {"reason_code": "fault", "reason_params": {"kind": "webhook", "error": "KeyError"}}
    make_delivery(chat, state="dead", settled_at=timezone.now(), **fault)
    Channel.objects.filter(id=chat.id).update(failing_since=None)
    assert [owner_notices.tell_owners(timezone.now()) for _ in range(2)] == [1, 0]
    assert states() == [("Inbox", "pending")]


def test_a_notice_that_waits_is_dropped_when_its_channel_works_again(sleeper: User, chat: Channel) -> None:
    make_channel(sleeper)
    dead_beside_one_that_arrived(chat)
    owner_notices.tell_owners(AT_THREE)
    owner_notices.tell_owners(AT_THREE)
    assert ("Mail", "quiet-hours") in states()
    Channel.objects.filter(id=chat.id).update(failing_since=None)
    owner_notices.tell_owners(AT_THREE)
    assert ("Mail", "mended") in states()


def test_staff_are_mailed_what_waits_each_their_own(chat: Channel) -> None:
    for email in ("op@example.org", "boss@example.org"):
        make_user(email=email, is_staff=True)
    make_user(email="former@example.org", is_staff=True, is_active=False)
    for _ in range(3):
        make_dead(chat)
    make_dead(chat, "It was the cat.", settled_at=timezone.now() - timedelta(days=3))
    assert operator_summary.send(timezone.now()) == 2
    assert sorted(message.to for message in mail.outbox) == [["boss@example.org"], ["op@example.org"]]
    message = mail.outbox[0]
    assert message.subject == "[Carillon] Dead letters: 4 wait, 3 of them new"
    assert "webhook: The bot was blocked." in message.body
    assert "/admin/notifications/deadletter/causes/" in message.body
    assert message.message()["Auto-Submitted"] == "auto-generated"


def test_staff_are_mailed_once_a_day_however_often_the_task_comes(chat: Channel) -> None:
    make_user(email="op@example.org", is_staff=True)
    make_dead(chat)
    noon = timezone.now().replace(hour=12)
    assert [operator_summary.send(at) for at in (noon, noon + timedelta(hours=1), noon + timedelta(days=1))] == [
        1,
        0,
        1,
    ]
    assert len(mail.outbox) == 2


def refusing(address: str, in_doubt: bool) -> Callable[..., int]:
    send = EmailBackend.send_messages

    def refuse(self: EmailBackend, messages: list[mail.EmailMessage]) -> int:
        if messages[0].to == [address]:
            self.in_doubt = in_doubt  # type: ignore[attr-defined]
            raise smtplib.SMTPServerDisconnected("Connection unexpectedly closed")
        return send(self, messages)

    return refuse


@pytest.mark.parametrize(("in_doubt", "again"), [(False, 1), (True, 0)])
def test_an_operator_whose_mail_was_refused_is_written_to_later_and_holds_up_nobody(
    chat: Channel, monkeypatch: pytest.MonkeyPatch, in_doubt: bool, again: int
) -> None:
    for email in ("full@example.org", "op@example.org"):
        make_user(email=email, is_staff=True)
    make_dead(chat)
    with monkeypatch.context() as patch, pytest.raises(smtplib.SMTPServerDisconnected):
        patch.setattr(EmailBackend, "send_messages", refusing("full@example.org", in_doubt))
        operator_summary.send(timezone.now())
    assert [message.to for message in mail.outbox] == [["op@example.org"]]
    assert operator_summary.send(timezone.now()) == again  # one that may have gone is not sent again


def test_nobody_is_mailed_when_nothing_waits(chat: Channel) -> None:
    make_user(email="op@example.org", is_staff=True)
    make_delivery(chat, state="delivered")
    assert operator_summary.send(timezone.now()) == 0
    assert mail.outbox == []
