"""A channel gets another address or another token: what stays, what is proven anew, and who no longer has a say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import TypeVar

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from common.forms.edit_form import VersionConflict
from notifications import reasons
from notifications.channels import changes, unsubscribe, verification
from notifications.deliveries import confirmation
from notifications.messages.links import UNSUBSCRIBE
from notifications.messages.message import Destination, Rejected
from notifications.models import Channel, Delivery, Notification
from people.models import Code, User
from people.sign_in import mailboxes
from tests.db.locks import wait_for_a_lock
from tests.db.notifications.conftest import code_in, fresh, link_in, send_all
from tests.make import NOON, disabled, make_channel, make_delivery, make_schedule, make_user, noted, settle, taken
from work.engine import manual

pytestmark = pytest.mark.django_db

T = TypeVar("T")

NEW, OLD = "new@example.net", "old@example.net"


@pytest.fixture
def letters(ada: User) -> Channel:
    return make_channel(ada, "email", label="Letters", address={"address": OLD})


def to(channel: Channel, address: str = NEW) -> Channel:
    read = fresh(channel)
    return changes.change(read, read.version, Destination({"address": address}), read.label)


def test_reminders_and_their_order_go_on_with_it_and_nothing_goes_there_before_the_code(
    browser: Client, ada: User, letters: Channel
) -> None:
    schedule = make_schedule(ada, [letters, make_channel(ada)], in_order=True)
    waiting = make_delivery(letters)
    path = f"/channels/{letters.id}/change/"
    page = browser.get(path)
    assert "1 message waits for this channel" in page.content.decode()
    answer = browser.post(path, {"read": page.context["read"], "address": NEW, "label": "Letters"})
    assert answer["Location"] == f"/channels/{letters.id}/verify/"
    assert schedule.channel_order[0] == letters.id and letters in schedule.channels.all()
    send_all()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == ("dead", "The channel is not confirmed yet.")
    assert [letter.to for letter in mail.outbox] == [[NEW]]
    assert confirmation.confirm(fresh(letters), code_in(0), timezone.now())
    manual.replay(Delivery, [waiting.id])
    send_all()
    assert [letter.to for letter in mail.outbox] == [[NEW], [NEW]]


def test_what_was_held_against_the_old_address_is_forgotten(letters: Channel) -> None:
    Channel.objects.update(disabled_at=NOON, **disabled("It is gone."), failing_since=NOON)
    to(letters)
    now = fresh(letters)
    assert (now.disabled_at, now.disabled_reason, now.failing_since, now.verified_at) == (None, "", None, None)


def test_what_an_operator_disabled_stays_so(letters: Channel) -> None:
    changes.disable([letters.id], "Abuse.")
    to(letters)
    assert fresh(letters).disabled_reason == "Abuse."


def test_the_code_of_the_old_address_does_not_verify_the_new_one(ada: User, letters: Channel) -> None:
    Channel.objects.update(verified_at=None)
    verification.send_code(fresh(letters), timezone.now())
    send_all()
    to(letters)
    assert not Code.objects.exists()
    verification.send_code(fresh(letters), timezone.now())  # at once: the new address has had none
    send_all()
    assert [letter.to for letter in mail.outbox] == [[OLD], [NEW]]
    assert not confirmation.confirm(fresh(letters), code_in(0), timezone.now())
    assert confirmation.confirm(fresh(letters), code_in(1), timezone.now())


def test_codes_that_wait_for_the_old_address_are_cancelled(letters: Channel) -> None:
    Channel.objects.update(verified_at=None)
    verification.send_code(fresh(letters), timezone.now())
    to(letters)
    assert Delivery.objects.get().state == "cancelled"


def backdate() -> None:
    Notification.objects.update(created_at=timezone.now() - timedelta(hours=2))


def test_codes_of_a_day_are_counted_by_the_address_that_they_went_to(letters: Channel) -> None:
    Channel.objects.update(verified_at=None)
    for _ in range(mailboxes.MAILS_A_DAY):
        verification.send_code(fresh(letters), timezone.now())
        Code.objects.all().delete()
        backdate()
    to(letters)
    again = make_channel(letters.user, "email", address={"address": OLD}, verified_at=None)
    with pytest.raises(verification.TooManyCodes, match="to this address"):
        verification.send_code(again, timezone.now())


def test_who_reads_the_old_address_learns_nothing_of_the_new_one_and_ends_nothing_there(
    client: Client, letters: Channel
) -> None:
    make_delivery(letters)
    send_all()
    to(letters)
    page = client.get(link_in(0)).content.decode()
    assert OLD in page and NEW not in page and "already removed" in page
    for act in ({"act": "stop"}, {"List-Unsubscribe": "One-Click"}):
        client.post(link_in(0), act)
    client.post(f"{link_in(0)}remove/")
    assert Channel.objects.filter(id=letters.id, removed_at=None, disabled_at=None).exists()


def test_the_link_in_what_the_new_address_gets_ends_it(client: Client, letters: Channel) -> None:
    to(letters)
    Channel.objects.filter(id=letters.id).update(verified_at=NOON)
    make_delivery(letters)
    send_all()
    assert NEW in client.get(link_in(0)).content.decode()
    client.post(link_in(0), {"act": "stop"})
    assert fresh(letters).disabled_code == reasons.DeliveryCode.UNSUBSCRIBED
    client.post(link_in(0), {"act": "resume"})
    assert fresh(letters).disabled_at is None


def test_after_a_second_change_each_address_has_its_own_link(client: Client, letters: Channel) -> None:
    Channel.objects.update(verified_at=None)
    links = []
    for address in (NEW, "third@example.net"):
        verification.send_code(fresh(letters), timezone.now())
        send_all()
        links.append(link_in(-1))
        to(letters, address)
    assert [address for link in links for address in (OLD, NEW) if address in client.get(link).content.decode()] == [
        OLD,
        NEW,
    ]


def test_a_stranger_who_was_sent_a_code_still_refuses_any_more(
    client: Client, browser: Client, letters: Channel
) -> None:
    Channel.objects.update(verified_at=None)
    verification.send_code(fresh(letters), timezone.now())
    send_all()
    to(letters)
    client.post(link_in(0), {"act": "stop"})
    with pytest.raises(verification.CodeRefused):
        to(letters, OLD)
    assert fresh(letters).address == {"address": NEW}
    path = f"/channels/{letters.id}/change/"
    form = {"read": browser.get(path).context["read"], "address": OLD, "label": "Letters"}
    assert "has refused emails" in browser.post(path, form).content.decode()
    assert UNSUBSCRIBE.token(letters.id) in link_in(0)


def test_an_address_confirmed_at_sign_up_needs_no_code(ada: User, letters: Channel) -> None:
    EmailAddress.objects.create(user=ada, email=NEW, verified=True)
    assert to(letters).verified_at is not None
    assert fresh(letters).verified_at is not None


def test_a_failure_at_the_old_address_is_not_held_against_the_new_one(letters: Channel) -> None:
    claim = taken(make_delivery(letters).id)
    to(letters)
    settle(claim, "dead", Rejected(noted("No such mailbox."), gone=True))
    now = fresh(letters)
    assert (now.disabled_at, now.failing_since) == (None, None)


def test_a_channel_removed_meanwhile_stays_removed(letters: Channel) -> None:
    changes.remove(fresh(letters))
    with pytest.raises(VersionConflict):
        to(letters)
    assert fresh(letters).address == {"address": OLD}
    assert changes.disable([letters.id], "It was abused.") == changes.enable([letters.id]) == []
    first = fresh(letters).removed_at
    changes.remove(fresh(letters))
    assert fresh(letters).removed_at == first


def test_a_former_address_counts_for_nothing_that_a_person_may_have(letters: Channel) -> None:
    to(letters)
    assert [channel.id for channel in Channel.objects.for_user(letters.user)] == [letters.id]
    former = Channel.objects.exclude(id=letters.id).get()
    assert (former.address, former.sealed_secrets) == ({"address": OLD}, "")


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_is_saved_and_the_other_told() -> None:
    letters = make_channel(make_user(), "email", address={"address": OLD})
    marked = letters.version

    def save(address: str) -> str:
        try:
            changes.change(letters, marked, Destination({"address": address}), "Letters")
            return address
        except VersionConflict:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        saved = list(pool.map(save, [f"{number}@example.net" for number in range(4)]))
    assert saved.count("") == 3
    assert fresh(letters).address == {"address": "".join(saved)}


def beside(other: Callable[[], T], before: Callable[[], object], after: Callable[[], object] = lambda: None) -> T:
    """The result of `other`, which begins after `before` and waits for `after`: one transaction of another thread."""
    held = Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                before()
                held.set()
                wait_for_a_lock()
                after()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        held.wait(60)
        try:
            return other()
        finally:
            holding.result(60)


@pytest.mark.django_db(transaction=True)
def test_a_channel_that_is_being_removed_is_waited_for_and_not_brought_back() -> None:
    letters = make_channel(make_user(), "email", address={"address": OLD})
    with pytest.raises(VersionConflict):
        beside(lambda: to(letters), before=lambda: changes.remove(letters))
    assert fresh(letters).removed_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_code_that_is_entered_while_the_address_changes_does_not_verify_the_new_one() -> None:
    letters = make_channel(make_user(), "email", address={"address": OLD}, verified_at=None)
    verification.send_code(letters, timezone.now())
    send_all()
    lock = Channel.objects.select_for_update().filter(id=letters.id)
    assert not beside(
        lambda: confirmation.confirm(letters, code_in(0), timezone.now()), before=lock.get, after=lambda: to(letters)
    )
    assert (fresh(letters).address, fresh(letters).verified_at) == ({"address": NEW}, None)


@pytest.mark.django_db(transaction=True)
def test_a_code_that_is_asked_for_while_the_address_changes_counts_for_the_new_one() -> None:
    letters = make_channel(make_user(), "email", address={"address": OLD}, verified_at=None)
    while mailboxes.may_send(mailboxes.Purpose.CODE, NEW):
        pass
    with pytest.raises(verification.TooManyCodes):
        beside(lambda: verification.send_code(letters, timezone.now()), before=lambda: to(letters))
    assert not Notification.objects.exists()


def _label(channel: Channel) -> object:
    read = fresh(channel)
    return changes.change(read, read.version, read.destination(), "Post")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "act",
    [
        _label,
        lambda channel: changes.disable([channel.id], "Wait"),
        lambda channel: changes.replace_secret(channel.id, changes.secret_fingerprint(channel), channel.user, NOON),
        lambda channel: unsubscribe.remove(channel.id),
    ],
    ids=["label", "disable", "secret", "unsubscribe"],
)
def test_messages_are_recorded_while_their_channel_is_changed(ada: User, act: Callable[[Channel], object]) -> None:
    channel = make_channel(ada, "webhook")
    changed, recorded = Event(), Event()

    def change() -> None:
        try:
            with transaction.atomic():
                act(fresh(channel))
                changed.set()
                recorded.wait(60)
        finally:
            changed.set()
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(change)
        changed.wait(60)
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '1s'")
                make_delivery(channel)
        finally:
            recorded.set()
        done.result()
