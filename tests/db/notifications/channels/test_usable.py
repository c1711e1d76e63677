"""Whether a channel can be used: SQL, condition, predicate and claim agree in every combination of states."""

from itertools import product

import pytest
from pytest_django import Settings

from common.database.postgres import query
from notifications import providers
from notifications.messages.message import Rejected
from notifications.models import Channel, Notification
from notifications.models.channel import STATE_SQL, STATES, USABLE_SQL, VERIFIED_SQL, in_state, usable, verified
from people.models import User
from tests.make import NOON, deliver_first, make_channel, make_delivery, make_fired, noted, taken, tried

_SELECT = f"SELECT c.id, {STATE_SQL} AS state, {VERIFIED_SQL} AS verified, {USABLE_SQL} AS usable FROM notifications_channel c"  # noqa: S608, E501
_MARKS = (None, NOON)


@pytest.fixture
def no_mail_server(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = "var/mail"


@pytest.mark.usefixtures("no_mail_server")
def test_all_forms_of_the_question_agree_in_every_combination_of_states(ada: User) -> None:
    made = {
        marks: make_channel(ada, provider, verified_at=at, disabled_at=off, removed_at=gone)
        for marks in product(("webhook", "email", "status"), _MARKS, _MARKS, _MARKS)
        for provider, at, off, gone in [marks]
    }
    rows = {row.id: row for row in query(_SELECT, {"unconfigured": providers.unconfigured()})}
    are_verified = set(Channel.objects.filter(verified()).values_list("id", flat=True))
    are_usable = set(Channel.objects.filter(usable()).values_list("id", flat=True))
    assert are_usable == {made["webhook", NOON, None, None].id}
    assert are_verified == {made[provider, NOON, None, None].id for provider in ("webhook", "email", "status")}
    for state in STATES:
        assert set(Channel.objects.filter(in_state(state))) == {one for one in made.values() if one.state == state}
    for channel in made.values():
        row = rows[channel.id]
        assert row.state == channel.state
        assert row.verified == (channel.id in are_verified) == (channel.state == "verified")
        assert row.usable == (channel.id in are_usable) == channel.is_usable
        unusable = taken(make_delivery(channel).id).unusable
        assert ("verified" if unusable is None else unusable.code) == channel.state


@pytest.mark.parametrize("origin", ["test", "code"])
def test_a_channel_that_is_not_verified_takes_its_test_and_its_code(ada: User, origin: str) -> None:
    delivery = make_delivery(make_channel(ada, "webhook", verified_at=None))
    Notification.objects.filter(id=delivery.notification_id).update(origin=origin)
    assert taken(delivery.id).unusable is None


@pytest.mark.usefixtures("no_mail_server")
def test_the_next_channel_is_not_one_whose_mails_are_only_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    notification, _ = make_fired()
    deliver_first(notification, monkeypatch, Rejected(noted("Gone.")))
    assert tried(notification) == [("Inbox", "dead"), ("Webhook", "pending")]
