"""Dead letters of one provider, one code and one end are one group; each way to end a delivery gives a code."""

from __future__ import annotations

from datetime import timedelta
from smtplib import SMTPResponseException

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

import work.reasons
from common.database import encryption
from common.uuid7 import uuid7
from notifications.deliveries.kind import DELIVERY
from notifications.messages.message import Delivered, Rejected
from notifications.models import Channel, Delivery
from notifications.net import http, post
from notifications.providers import discord, email, slack, telegram
from notifications.reasons import DeliveryCode
from tests.make import (
    NOON,
    disabled,
    drop_check,
    finish,
    make_channel,
    make_delivery,
    make_user,
    noted,
    send_now,
    taken,
)
from work import dead_letters
from work.answers import Ambiguous, Answer, Retryable
from work.dead_letters import Which
from work.engine import manual, recovery
from work.reasons import Reason, cause_of

pytestmark = pytest.mark.django_db


def answered(status: int, body: bytes = b"") -> http.Response:
    return http.Response(status, {}, body)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (post.refused("the receiver", answered(404)), "http-404"),
        (post.retry_later("the receiver", answered(503)), "http-503"),
        (post.failed(http.NotSent(Reason(DeliveryCode.PRIVATE), refused=True)), "private-network"),
        (post.failed(http.NotSent(Reason(DeliveryCode.NAME))), "name"),
        (post.failed(http.Unanswered(Reason(DeliveryCode.TIMEOUT))), "timeout"),
        (discord._judge(answered(404, b'{"code": 10015}')), "webhook-removed"),
        (slack._judge("Slack", answered(404, b"no_service")), "webhook-removed"),
        (telegram._judge(answered(403, b'{"description": "bot was blocked by the user"}')), "blocked"),
        (telegram._judge(answered(400, b'{"description": "chat not found"}')), "no-chat"),
    ],
)
def test_an_answer_has_the_code_of_what_the_service_did(answer: Answer, code: str) -> None:
    assert not isinstance(answer, Delivered)
    assert cause_of("x", answer.reason, "dead") == f"x-{code}"


@pytest.mark.parametrize(
    ("status", "text", "cause"),
    [
        (550, b"5.1.1 <ada@example.org>: no such user", "email-smtp-550-5-1-1"),
        (550, b"5.1.1 <bob@example.com>: no such user", "email-smtp-550-5-1-1"),
        (552, b"5.2.2 mailbox full", "email-smtp-552-5-2-2"),
        (554, b"no", "email-smtp-554"),
    ],
)
def test_a_mail_servers_reply_is_grouped_by_its_status_alone(status: int, text: bytes, cause: str) -> None:
    answer = email._judge(SMTPResponseException(status, text), in_doubt=False)
    assert isinstance(answer, Rejected)
    assert cause_of("email", answer.reason, "dead") == cause


def test_a_cause_is_of_one_provider_one_code_and_one_end() -> None:
    assert cause_of("email", Reason(work.reasons.WorkCode.LOST), "unknown") == "email-lost-unknown"
    assert cause_of("Pi/geon\n", Reason("?"), "unknown") == "pi-geon----unknown"
    assert len(cause_of("x" * 500, Reason("y"), "unknown")) == 64


def end(channel: Channel, answer: Answer, tries: int = 0) -> Delivery:
    delivery = make_delivery(channel, tries=tries)
    claim = taken(delivery.id)
    finish(claim, answer)
    delivery.refresh_from_db()
    return delivery


@pytest.mark.parametrize(
    ("answer", "tries", "cause"),
    [
        (Rejected(Reason(DeliveryCode.HTTP, status=404)), 0, "email-http-404"),
        (Rejected(Reason(DeliveryCode.BLOCKED)), 0, "email-blocked"),
        (Ambiguous(Reason(DeliveryCode.TIMEOUT)), 0, "email-timeout-unknown"),
        (Retryable(Reason(DeliveryCode.HTTP, status=503)), 99, "email-http-503"),
        (Retryable(Reason(DeliveryCode.HTTP, status=503)), 0, ""),
    ],
)
def test_the_verb_that_ends_a_delivery_writes_its_cause(answer: Answer, tries: int, cause: str) -> None:
    assert end(make_channel(make_user(), "email"), answer, tries).cause == cause


@pytest.mark.parametrize(
    ("unusable", "code"),
    [
        ({"removed_at": NOON}, "removed"),
        ({"disabled_at": NOON, **disabled("It bounces.")}, "disabled"),
        ({"verified_at": None}, "unverified"),
        ({"provider": "pigeon"}, "no-provider"),
        ({"sealed_secrets": encryption.seal_secrets({"secret": "x"}, uuid7())}, "unreadable"),  # another row's
    ],
)
def test_a_channel_that_cannot_be_used_gives_its_own_code(unusable: dict[str, object], code: str) -> None:
    channel = make_channel(make_user(), "webhook")
    delivery = make_delivery(channel, **{key: unusable[key] for key in unusable if key == "provider"})
    drop_check("notifications_channel", "channel_readable_address")
    Channel.objects.filter(id=channel.id).update(**unusable)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.cause == f"{delivery.provider}-{code}"


@pytest.mark.parametrize(
    ("provider", "repeatable", "cause"),
    [("email", False, "email-lost-unknown"), ("email", True, "email-lost"), ("pigeon", False, "pigeon-lost-unknown")],
)
def test_a_lost_worker_gives_a_cause(provider: str, repeatable: bool, cause: str) -> None:
    channel = make_channel(make_user(), "email", on_unknown="retry" if repeatable else "")
    delivery = make_delivery(channel, provider=provider, tries=5)
    taken(delivery.id)
    Delivery.objects.update(lease_until=NOON - timedelta(days=9999))
    recovery.recover(DELIVERY, 10)
    delivery.refresh_from_db()
    assert delivery.cause == cause
    assert delivery.history.get().outcome == "lost"


def test_no_dead_letter_is_without_a_cause() -> None:
    with pytest.raises(IntegrityError, match="A dead letter has a cause"):
        make_delivery(make_channel(make_user()), state="dead", cause="")


def test_a_replay_leads_out_of_the_group() -> None:
    channel = make_channel(make_user(), "email")
    one, other = end(channel, Rejected(noted("No."))), end(channel, Rejected(Reason(DeliveryCode.HTTP, status=404)))
    assert {group.cause for group in dead_letters.groups(Which(DELIVERY))} == {one.cause, other.cause}
    manual.replay(Delivery, [one.id])
    assert {group.cause for group in dead_letters.groups(Which(DELIVERY))} == {other.cause}


def test_a_group_has_its_count_its_first_and_last_death_and_its_newest_letter() -> None:
    channel, hook = make_channel(make_user(), "email"), make_channel(make_user(), "webhook")
    hours = [NOON + timedelta(hours=hour) for hour in (2, 0, 1)]
    newest, *_ = [make_delivery(channel, state="dead", reason=f"No box {at.hour}.", settled_at=at) for at in hours]
    other = make_delivery(hook, state="unknown", reason="No answer.", settled_at=NOON - timedelta(hours=1))
    make_delivery(channel, state="delivered")
    with CaptureQueriesContext(connection) as captured:
        first, second = dead_letters.groups(Which(DELIVERY))
    assert (first.count, first.first, first.last, first.example) == (3, NOON, NOON + timedelta(hours=2), newest)
    assert (second.count, second.example) == (1, other)
    assert len(captured) == 3
    assert [group.example for group in dead_letters.groups(Which(DELIVERY, handler="webhook"))] == [other]
    assert [group.count for group in dead_letters.groups(Which(DELIVERY, since=NOON + timedelta(hours=1)))] == [2]
