"""What died of the same is one group: ids, numbers, addresses and times aside."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications import dead_letters, deliveries
from notifications.dead_letters import Which
from notifications.deliveries import LostRule
from notifications.models import Delivery
from tests.make import NOON, make_channel, make_delivery, make_user

pytestmark = pytest.mark.django_db


def cause(reason: str, provider: str = "email", state: str = "dead") -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifications_cause(%s::text, %s::text, %s::text)", [provider, state, reason])
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("550 5.1.1 <ada@example.org>: no such user", "550 5.1.1 <bob@example.com>: no such user"),
        ("The receiver answered 503 Service Unavailable.", "The receiver answered  503 service unavailable"),
        ("No chat 123456.", "No chat -99."),
        ("Cannot reach hooks.example.org: refused", "Cannot reach www.example.com:8443: refused"),
        ("Cannot reach https://a.example/x?y=1: refused", "Cannot reach http://b.example: refused"),
        ("Down since Sun, 01 Jun 2026 12:00:00 GMT", "Down since Thu, 24 Dec 2026 09:30:00 GMT"),
        ("Down since 2026-06-01T12:00Z", "Down since 2026-12-24T09:30Z"),
        ("Message 5d3f6b1e-2f0b-4c58-9d0e refused", "Message 01890a5d-ac96-774b-bcce refused"),
        ("Timed out after 20.0 s", "Timed out after 19.98 s"),
        ("Refused: qhVdkwPqhVdkwPqhVdkwPqhVdkwPqhVdkwP", "Refused: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
    ],
)
def test_what_differs_from_letter_to_letter_is_left_out(one: str, other: str) -> None:
    assert cause(one) == cause(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The receiver answered 503 Service Unavailable.", "The receiver answered 500 Internal Server Error."),
        ("The mail server refused the mail: 550 no", "The mail server refused the mail: 552 no"),
        ("The receiver answered 404.", "The receiver answered 410."),
        ("The bot was blocked.", "The bot finds no chat."),
        ("Адрес неверен", "Ящик переполнен"),
    ],
)
def test_the_status_and_the_words_are_kept(one: str, other: str) -> None:
    assert cause(one) != cause(other)


def test_a_cause_is_of_one_provider_and_one_end() -> None:
    assert len({cause("No."), cause("No.", provider="webhook"), cause("No.", state="unknown")}) == 3


@pytest.mark.parametrize("reason", ["", "\n" * 500, "�" * 500, "1" * 500, "a." * 250, "\\1 \\y %s $$", "ß İ ǅ"])
def test_any_reason_has_a_cause(reason: str) -> None:
    assert len(cause(reason)) == 12


def test_every_verb_that_ends_a_delivery_names_its_cause_and_a_replay_leads_out_of_the_group() -> None:
    channel = make_channel(make_user(), "email")
    rejected, held, lost = (make_delivery(channel) for _ in range(3))
    for delivery, end in ((rejected, deliveries.reject), (held, deliveries.hold)):
        claim = deliveries.claim(delivery.id, "worker")
        assert claim is not None
        end(claim, "No such box.")
    deliveries.claim(lost.id, "worker")
    Delivery.objects.filter(id=lost.id).update(lease_until=NOON - timedelta(days=9999))
    deliveries.recover_expired_leases([LostRule("email", False, 5)], 10)
    causes = dict(Delivery.objects.values_list("id", "cause"))
    assert all(causes.values()) and len(set(causes.values())) == 3
    assert {group.cause for group in dead_letters.groups()} == set(causes.values())
    deliveries.replay([held.id])
    assert {group.cause for group in dead_letters.groups()} == set(causes.values()) - {causes[held.id]}


def test_a_group_has_its_count_its_first_and_last_death_and_its_newest_letter() -> None:
    channel, hook = make_channel(make_user(), "email"), make_channel(make_user(), "webhook")
    hours = [NOON + timedelta(hours=hour) for hour in (2, 0, 1)]
    newest, *_ = [make_delivery(channel, state="dead", reason=f"No box {at.hour}.", settled_at=at) for at in hours]
    other = make_delivery(hook, state="unknown", reason="No answer.", settled_at=NOON - timedelta(hours=1))
    make_delivery(channel, state="delivered")
    with CaptureQueriesContext(connection) as captured:
        first, second = dead_letters.groups()
    assert (first.count, first.first, first.last, first.example) == (3, NOON, NOON + timedelta(hours=2), newest)
    assert (second.count, second.example) == (1, other)
    assert len(captured) == 3
    assert [group.example for group in dead_letters.groups(Which(provider="webhook"))] == [other]
    assert [group.count for group in dead_letters.groups(Which(since=NOON + timedelta(hours=1)))] == [2]
