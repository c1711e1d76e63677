"""Owners send their own dead letters again, or discard them, on the page of what was said."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from notifications.models import Channel, Delivery
from people.models import User
from tests.make import make_channel, make_delivery, make_user
from work import dead_letters
from work.models import Intervention

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(ada: User) -> Channel:
    return make_channel(ada, "webhook", label="Chat")


def make_letter(channel: Channel, state: str = "dead") -> Delivery:
    return make_delivery(channel, state=state, reason="It was the cat.", settled_at=timezone.now())


def act(browser: Client, letter: Delivery, what: str) -> str:
    """Returns the page that follows; the letter is read anew."""
    page = browser.post(f"/history/deliveries/{letter.id}/{what}/", follow=True).content.decode()
    letter.refresh_from_db()
    return page


@pytest.mark.parametrize(
    ("state", "button"), [("dead", "Send again</button>"), ("unknown", "Send again (may arrive twice)</button>")]
)
def test_a_letter_is_sent_again_under_the_same_key_and_that_is_kept(
    browser: Client, ada: User, chat: Channel, state: str, button: str
) -> None:
    letter = make_letter(chat, state)
    assert button in browser.get(f"/history/{letter.notification_id}/").content.decode()
    page = act(browser, letter, "again")
    assert "Sending again to “Chat”." in page
    assert "Send again" not in page
    assert (letter.state, letter.replays) == ("pending", 1)
    kept = Intervention.objects.get()
    assert (kept.by, kept.who, kept.what, kept.count) == (ada, ada.email, "replayed", 1)
    assert list(dead_letters.touched_by(kept)) == [letter]


def test_pressing_twice_sends_it_once(browser: Client, chat: Channel) -> None:
    letter = make_letter(chat)
    act(browser, letter, "again")
    assert "Nothing changed" in act(browser, letter, "again")
    assert (letter.replays, Intervention.objects.count()) == (1, 1)


def test_a_letter_is_discarded_and_says_who_wanted_that(browser: Client, chat: Channel) -> None:
    letter = make_letter(chat)
    assert "Discarded." in act(browser, letter, "discard")
    assert (letter.state, letter.reason) == ("cancelled", "Discarded: its owner does not need it any more.")
    assert Intervention.objects.get().what == "discarded"
    assert "Nothing changed" in act(browser, letter, "again")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"disabled_at": "2026-06-01T12:00Z"}, "“Chat” is disabled. Enable it first"),
        ({"removed_at": "2026-06-01T12:00Z"}, "“Chat” was removed"),
        ({"verified_at": None}, "“Chat” is not confirmed yet. Enter its code first"),
    ],
)
def test_what_would_die_again_at_once_is_not_sent(
    browser: Client, chat: Channel, fields: dict[str, object], said: str
) -> None:
    letter = make_letter(chat)
    Channel.objects.filter(id=chat.id).update(**fields)
    assert said in act(browser, letter, "again")
    assert letter.state == "dead"
    assert not Intervention.objects.exists()


def test_a_letter_is_sent_as_new_under_another_key_once(browser: Client, ada: User, chat: Channel) -> None:
    letter = make_letter(chat)
    assert "Send as new</button>" in browser.get(f"/history/{letter.notification_id}/").content.decode()
    assert "Sent as new to “Chat”." in act(browser, letter, "new")
    assert "Nothing changed" in act(browser, letter, "new")
    assert (letter.state, letter.reason_code, letter.replays) == ("cancelled", "sent-as-new", 0)
    new = Delivery.objects.exclude(id=letter.id).get()
    assert (new.state, new.notification.subject) == ("pending", letter.notification.subject)
    assert Intervention.objects.get().what == "as-new"


@pytest.mark.parametrize(("note", "told"), [("By\0 phone.", "By phone."), ("", "its owner says so.")])
def test_a_letter_that_is_fixed_keeps_the_note(browser: Client, chat: Channel, note: str, told: str) -> None:
    letter = make_letter(chat)
    browser.post(f"/history/deliveries/{letter.id}/fixed/", {"note": note})
    letter.refresh_from_db()
    assert (letter.state, letter.reason_code, letter.reason_params) == ("cancelled", "fixed", {"said": told})
    assert Intervention.objects.get().what == "fixed"


def test_what_has_not_gone_out_is_cancelled_on_its_page(browser: Client, chat: Channel) -> None:
    waiting = make_delivery(chat)
    page = f"/history/{waiting.notification_id}/"
    assert "Cancel what is not sent yet</button>" in browser.get(page).content.decode()
    assert "Cancelled." in browser.post(f"{page}cancel/", follow=True).content.decode()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason_code) == ("cancelled", "cancelled")
    assert "nothing was cancelled" in browser.post(f"{page}cancel/", follow=True).content.decode()


@pytest.mark.parametrize("what", ["again", "discard", "new", "fixed"])
def test_a_strangers_letter_is_not_there_and_looking_changes_nothing(browser: Client, what: str) -> None:
    letter = make_letter(make_channel(make_user(), "webhook"))
    path = f"/history/deliveries/{letter.id}/{what}/"
    assert browser.post(path).status_code == 404
    assert browser.get(path).status_code == 405
    letter.refresh_from_db()
    assert letter.state == "dead"


def test_what_has_arrived_offers_nothing(browser: Client, chat: Channel) -> None:
    letter = make_delivery(chat, state="delivered")
    assert "Send again" not in browser.get(f"/history/{letter.notification_id}/").content.decode()
    assert "Nothing changed" in act(browser, letter, "again")
    assert letter.state == "delivered"


def test_a_test_is_not_sent_again_for_tests_are_counted_where_they_are_asked_for(
    browser: Client, chat: Channel
) -> None:
    letter = make_delivery(chat, origin="test", state="dead", settled_at=timezone.now())
    page = browser.get(f"/history/{letter.notification_id}/").content.decode()
    assert "Discard</button>" in page
    assert "Send again" not in page
    assert "This was a test. Send a new one" in act(browser, letter, "again")
    assert (letter.state, letter.replays) == ("dead", 0)
