"""Keys change without downtime, and a key that is missing harms only the channels that it sealed."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common.database import encryption
from common.models import KeyCheck
from notifications.channels import key_rotation
from notifications.deliveries import kind as delivery_kind
from notifications.models import Channel, Delivery
from people.models import User
from schedules.agenda import feed
from tests.db.events.test_inbound import make_address
from tests.make import make_channel, make_connection, make_delivery, make_user, send_now

pytestmark = pytest.mark.django_db

OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))


@pytest.fixture
def ada(settings: Settings) -> User:
    settings.ENCRYPTION_KEYS = [OLD]
    return make_user(email="ada@example.org")


def rotate() -> str:
    out = StringIO()
    call_command("rotate_keys", stdout=out, stderr=out)
    return out.getvalue()


def test_after_a_rotation_the_old_key_is_needed_no_more(ada: User, settings: Settings) -> None:
    hooks = [make_channel(ada, "webhook") for _ in range(3)]
    said = [hook.destination().secrets for hook in hooks]
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert "3 sealed with the first key, 0 were already, 0 unreadable" in rotate()
    settings.ENCRYPTION_KEYS = [NEW]
    assert [Channel.objects.get(id=hook.id).destination().secrets for hook in hooks] == said


def test_a_rotation_covers_every_table_with_secrets(ada: User, settings: Settings) -> None:
    rows = [make_connection(ada), make_address(ada, token="7" * 48), make_channel(ada, "webhook"), feed.make(ada)]
    assert {type(row) for row in rows} == set(key_rotation.models())
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert "4 sealed with the first key, 0 were already, 0 unreadable" in rotate()
    settings.ENCRYPTION_KEYS = [NEW]
    for row in rows:
        row.refresh_from_db()
        assert encryption.unseal_secrets(row.sealed_secrets, row.id)


def test_what_the_cipher_of_before_has_sealed_is_read_and_sealed_again(ada: User, settings: Settings) -> None:
    hook = make_channel(ada, "webhook")
    said = encryption.unseal(hook.sealed_secrets)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    Channel.objects.update(sealed_secrets=Fernet(NEW).encrypt(said.encode()).decode())
    assert encryption.unseal(Channel.objects.get().sealed_secrets) == said
    assert "1 sealed with the first key, 0 were already, 0 unreadable" in rotate()
    assert Channel.objects.get().sealed_secrets.startswith("aes-256-gcm:")
    assert encryption.unseal(Channel.objects.get().sealed_secrets) == said


def test_a_sealed_text_that_was_changed_is_unreadable(ada: User) -> None:
    cipher, _, data = encryption.seal("a secret").partition(":")
    for changed in (data[:-4] + "AAA=", "AAAA" + data[4:], data[:8], "", "é", data + "AAAA"):
        with pytest.raises(encryption.MissingKey):
            encryption.unseal(f"{cipher}:{changed}")
    assert encryption.seal("a secret") != encryption.seal("a secret")


def test_an_interrupted_rotation_goes_on_where_it_was(ada: User, settings: Settings) -> None:
    hooks = [make_channel(ada, "webhook") for _ in range(5)]
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    first = key_rotation.Rotated()
    next(key_rotation.rotate(first, chunk=2))
    assert (first.sealed, first.sealed_before) == (2, 0)
    sealed = Channel.objects.get(id=hooks[0].id).sealed_secrets
    assert "3 sealed with the first key, 2 were already, 0 unreadable" in rotate()
    assert Channel.objects.get(id=hooks[0].id).sealed_secrets == sealed


def test_a_channel_that_no_key_opens_is_named_and_left(ada: User, settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [LOST]
    lost = make_channel(ada, "webhook")
    settings.ENCRYPTION_KEYS = [OLD]
    make_channel(ada, "webhook")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    out = StringIO()
    with pytest.raises(CommandError, match="1 secrets cannot be read"):
        call_command("rotate_keys", stdout=out, stderr=out)
    assert f"channel {lost.id}: no key opens its secrets" in out.getvalue()
    assert "1 sealed with the first key" in out.getvalue()
    assert Channel.objects.get(id=lost.id).sealed_secrets == lost.sealed_secrets


def test_a_change_made_during_a_rotation_is_kept(ada: User, settings: Settings) -> None:
    hook = make_channel(ada, "webhook")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    stale = [(hook.id, hook.sealed_secrets)]
    changed = encryption.seal_secrets({"secret": "another"}, hook.id)
    Channel.objects.update(sealed_secrets=changed)
    done = key_rotation.Rotated()
    key_rotation._rotate(done, Channel, stale)
    assert done.sealed == 0
    assert Channel.objects.get().sealed_secrets == changed


def test_sealed_text_moved_to_another_channel_is_unreadable(ada: User) -> None:
    mine, yours = make_channel(ada, "webhook"), make_channel(make_user(), "webhook")
    Channel.objects.filter(id=yours.id).update(sealed_secrets=mine.sealed_secrets)
    assert "belong to something else" in Channel.objects.get(id=yours.id).unreadable


def test_the_page_says_which_channel_cannot_be_read_and_the_others_go_on(
    ada: User, client: Client, settings: Settings
) -> None:
    settings.ENCRYPTION_KEYS = [LOST]
    lost = make_channel(ada, "webhook", label="Pager")
    settings.ENCRYPTION_KEYS = [OLD]
    inbox = make_channel(ada)
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get("/channels/").content.decode()
    assert page.count("cannot be read with the configured encryption keys") == 1
    for channel in (lost, inbox):
        send_now(make_delivery(channel).id)
    assert {d.channel_id: d.state for d in Delivery.objects.all()} == {lost.id: "pending", inbox.id: "delivered"}
    assert "configured encryption keys" in Delivery.objects.get(channel=lost).reason


def test_a_delivery_waits_for_a_missing_key_for_a_week_and_counts_no_try(ada: User, settings: Settings) -> None:
    hook = make_channel(ada, "webhook")
    delivery, late = make_delivery(hook), make_delivery(hook, released=delivery_kind._MOST_WAITS)
    settings.ENCRYPTION_KEYS = [LOST]
    for one in (delivery, late):
        send_now(one.id)
        one.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.reason_code) == ("pending", 0, "unreadable")
    assert timedelta(seconds=50) < delivery.available_at - timezone.now() < timedelta(seconds=61)
    assert (late.state, late.cause) == ("dead", "webhook-unreadable")


def test_the_keys_fit_as_long_as_one_has_sealed_the_known_text(ada: User, settings: Settings) -> None:
    assert key_rotation.keys_match()
    settings.ENCRYPTION_KEYS = [NEW]
    assert not key_rotation.keys_match()
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert key_rotation.keys_match()
    rotate()
    settings.ENCRYPTION_KEYS = [NEW]
    assert key_rotation.keys_match()


def test_before_there_is_a_known_text_the_secrets_decide(ada: User, settings: Settings) -> None:
    make_channel(ada, "webhook")
    settings.ENCRYPTION_KEYS = [LOST]
    assert not key_rotation.keys_match() and not KeyCheck.objects.exists()
    settings.ENCRYPTION_KEYS = [OLD]
    assert key_rotation.keys_match()


def test_an_operator_whose_key_is_lost_starts_with_the_present_one(ada: User, settings: Settings) -> None:
    make_channel(ada, "webhook")
    assert key_rotation.keys_match()
    settings.ENCRYPTION_KEYS = [NEW]
    with pytest.raises(CommandError):
        rotate()
    assert not key_rotation.keys_match()
    with pytest.raises(CommandError, match="1 secrets cannot be read"):
        call_command("rotate_keys", "--lost", stdout=StringIO(), stderr=StringIO())
    assert key_rotation.keys_match()


def test_removing_a_channel_erases_its_secrets(ada: User, client: Client) -> None:
    hook = make_channel(ada, "webhook")
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    client.post(f"/channels/{hook.id}/remove/")
    assert Channel.objects.get().sealed_secrets == ""
