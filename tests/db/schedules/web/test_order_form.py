"""Choosing the order of channels in the form of a reminder: with numbers, and plain errors at the field."""

from __future__ import annotations

import pytest
from django.test import Client

from notifications.models import Channel, Notification
from people.models import User
from schedules.models import Schedule
from tests.db.schedules.web.typed import typed
from tests.make import make_channel


@pytest.fixture
def channels(ada: User) -> list[Channel]:
    return [make_channel(ada, provider) for provider in ("inbox", "email", "webhook")]


def places(*numbered: tuple[Channel, object]) -> dict[str, object]:
    return {f"position_{channel.id.hex}": number for channel, number in numbered}


def test_a_reminder_is_made_with_an_order_and_shows_it_when_edited(browser: Client, channels: list[Channel]) -> None:
    inbox, mail, hook = channels
    answer = typed(*channels, one_by_one="order", escalate_after="15", **places((hook, 1), (inbox, 2)))
    assert browser.post("/reminders/new/", answer).status_code == 302
    schedule = Schedule.objects.get()
    assert (schedule.channel_order, schedule.escalate_after) == ([hook.id, inbox.id, mail.id], 15)
    page = browser.get(f"/reminders/{schedule.id}/").content.decode()
    assert "if nobody acknowledges within 15 minutes" in page
    assert page.index("Webhook") < page.index("Email")
    form = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    assert (form["one_by_one"].value(), form["escalate_after"].value()) == ("order", 15)
    assert [field.value() for field in form.positions()] == [2, 3, 1]


def test_all_of_them_is_what_somebody_gets_who_chooses_nothing(browser: Client, channels: list[Channel]) -> None:
    browser.post("/reminders/new/", typed(*channels))
    schedule = Schedule.objects.get()
    assert (schedule.channel_order, schedule.escalate_after) == ([], None)


def test_changing_back_to_all_of_them_forgets_the_order(browser: Client, channels: list[Channel]) -> None:
    browser.post("/reminders/new/", typed(*channels, one_by_one="order", escalate_after="15"))
    schedule = Schedule.objects.get()
    browser.post(f"/reminders/{schedule.id}/edit/", typed(*channels, one_by_one="", version="1"))
    schedule.refresh_from_db()
    assert (schedule.channel_order, schedule.escalate_after) == ([], None)


@pytest.mark.parametrize(
    ("answer", "field", "said"),
    [
        ({"one_by_one": "order", "escalate_after": "soon"}, "escalate_after", "Enter a whole number from 1 to 10,080"),
        ({"one_by_one": "order", "escalate_after": "0"}, "escalate_after", "Enter a whole number from 1"),
        ({"one_by_one": "order", "escalate_after": "99999"}, "escalate_after", "to 10,080, or leave it empty"),
        ({"escalate_after": "10"}, "escalate_after", "This needs the option"),
        ({"one_by_one": "sideways"}, "one_by_one", "Choose “All at once” or"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(
    browser: Client, channels: list[Channel], answer: dict[str, str], field: str, said: str
) -> None:
    response = browser.post("/reminders/new/", typed(*channels, **answer))
    assert said in " ".join(response.context["form"].errors[field])
    assert said in response.content.decode()
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(("number", "said"), [(2, "Two channels have position 2"), ("first", "Enter a whole number")])
def test_places_are_numbers_each_of_which_stands_once(
    browser: Client, channels: list[Channel], number: object, said: str
) -> None:
    inbox, mail, _ = channels
    response = browser.post(
        "/reminders/new/", typed(*channels, one_by_one="order", **places((inbox, 2), (mail, number)))
    )
    assert said in " ".join(response.context["form"].errors[f"position_{mail.id.hex}"])
    assert not Schedule.objects.exists()


def test_one_channel_alone_has_no_next(browser: Client, channels: list[Channel]) -> None:
    response = browser.post("/reminders/new/", typed(channels[0], one_by_one="order"))
    assert "Choose two or more channels" in response.content.decode()


def test_two_editors_at_once_see_both_orders(browser: Client, channels: list[Channel]) -> None:
    inbox, mail, hook = channels
    browser.post("/reminders/new/", typed(*channels, one_by_one="order", **places((hook, 1), (inbox, 2), (mail, 3))))
    schedule = Schedule.objects.get()
    Schedule.objects.update(version=2, escalate_after=15)
    mine = typed(*channels, one_by_one="order", version="1", **places((mail, 1), (inbox, 2), (hook, 3)))
    answer = browser.post(f"/reminders/{schedule.id}/edit/", mine)
    assert answer.status_code == 409
    rows = {label: (saved, typed_here) for label, saved, typed_here in answer.context["differences"]}
    assert rows["Channels"] == ("Webhook, then Inbox, then Email", "Email, then Inbox, then Webhook")
    assert rows["Minutes until the next one"] == ("15", "")


def test_lists_history_and_admin_show_the_channels_in_order(
    browser: Client, ada: User, channels: list[Channel]
) -> None:
    inbox, mail, hook = channels
    browser.post("/reminders/new/", typed(*channels, one_by_one="order", **places((hook, 1), (inbox, 3), (mail, 2))))
    schedule = Schedule.objects.get()
    browser.post(f"/reminders/{schedule.id}/run/")
    said = Notification.objects.get()
    history = browser.get(f"/history/{said.id}/").content.decode()
    assert "until one arrives: Webhook, then Email, then Inbox." in history
    listed = browser.get("/reminders/").content.decode().split('aria-label="Channels"')[1]
    assert listed.index("Webhook") < listed.index("Email") < listed.index("Inbox")
    ada.is_staff = ada.is_superuser = True
    ada.save()
    for model, row in (("schedules/schedule", schedule), ("notifications/notification", said)):
        page = browser.get(f"/admin/{model}/{row.id}/change/").content.decode()
        assert page.index(f"{hook.id}/change/") < page.index(f"{mail.id}/change/") < page.index(f"{inbox.id}/change/")
