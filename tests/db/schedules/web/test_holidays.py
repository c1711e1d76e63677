"""The pages of holidays, and what the others say of them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from people.models import User
from schedules.firing.holidays import MOST
from schedules.models import Holiday
from tests.make import make_channel, make_schedule


def today() -> date:
    """Of Ada, who is in Berlin: an hour or two of each day it is not the server's."""
    return timezone.localdate(timezone=ZoneInfo("Europe/Berlin"))


def typed(first: int = 0, last: int = 7, **more: Any) -> dict[str, Any]:
    """From so many days after today to so many."""
    days = {"first": today() + timedelta(days=first), "last": today() + timedelta(days=last)}
    return {name: day.isoformat() for name, day in days.items()} | {"urgent_rings": "on"} | more


def errors(browser: Client, **values: Any) -> dict[str, Any]:
    answer = browser.post("/holidays/", typed() | values)
    return {} if answer.status_code == 302 else answer.context["form"].errors


def test_a_holiday_is_planned_changed_ended_and_deleted(browser: Client, ada: User) -> None:
    assert browser.post("/holidays/", typed(note="Italy")).status_code == 302
    holiday = Holiday.objects.get(user=ada)
    assert (holiday.tags, holiday.urgent_rings, holiday.note) == ([], True, "Italy")
    browser.post(f"/holidays/{holiday.id}/", typed(last=9))
    holiday.refresh_from_db()
    assert holiday.last == today() + timedelta(days=9)
    [(_, is_on)] = browser.get("/holidays/").context["coming"]
    assert is_on
    browser.post(f"/holidays/{holiday.id}/end/")
    context = browser.get("/holidays/").context
    assert (context["coming"], context["over"]) == ([], [holiday])
    browser.post(f"/holidays/{holiday.id}/delete/")
    assert not Holiday.objects.exists()


def test_a_form_that_is_sent_twice_plans_one(browser: Client, ada: User) -> None:
    for note in ("Italy", "Italy", "Spain"):
        assert browser.post("/holidays/", typed(note=note)).status_code == 302
    assert [one.note for one in Holiday.objects.order_by("id")] == ["Italy", "Spain"]
    browser.post(f"/holidays/{Holiday.objects.earliest('id').id}/end/")
    browser.post("/holidays/", typed(note="Italy"))  # after an early end, the same is another one
    assert Holiday.objects.count() == 3


def test_deleting_one_can_be_undone(browser: Client, ada: User) -> None:
    make_schedule(ada, tags=["Home", "Cat"])
    browser.post("/holidays/", typed(first=-2, tags="home, cat", urgent_rings="", note="Italy"))
    fields = ("first", "last", "tags", "urgent_rings", "note")
    before = Holiday.objects.values_list(*fields).get()
    browser.post(f"/holidays/{Holiday.objects.get().id}/delete/")
    undo = browser.get("/holidays/").context["deleted"]
    assert not browser.get("/holidays/").context["deleted"]
    browser.post("/holidays/", undo)
    assert Holiday.objects.values_list(*fields).get() == before


def test_one_that_is_to_come_is_not_ended(browser: Client, ada: User) -> None:
    browser.post("/holidays/", typed(first=3))
    holiday = Holiday.objects.get()
    browser.post(f"/holidays/{holiday.id}/end/")
    holiday.refresh_from_db()
    assert holiday.ended_at is None


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"first": ""}, "first"),
        ({"last": "soon"}, "last"),
        ({"first": "2999-01-01"}, "last"),
        ({"first": "2000-01-01", "last": "2000-01-02"}, "last"),
        ({"last": "9999-12-31"}, "last"),
        ({"tags": "home"}, "tags"),
        ({"note": "x" * 201}, "note"),
    ],
)
def test_bad_input_is_refused_at_its_field(browser: Client, values: dict[str, str], field: str) -> None:
    assert list(errors(browser, **values)) == [field]
    assert not Holiday.objects.exists()


def test_a_tag_is_one_that_a_reminder_has(browser: Client, ada: User) -> None:
    make_schedule(ada, tags=["Home"])
    assert errors(browser, tags="home") == {}


def test_there_is_a_limit(browser: Client, ada: User) -> None:
    days = {"first": today(), "last": today()}
    Holiday.objects.bulk_create(Holiday(user=ada, **days) for _ in range(MOST))
    assert list(errors(browser)) == ["__all__"]


def test_list_page_and_preview_say_that_the_next_slot_is_in_it(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    schedule = make_schedule(ada, [inbox], now=timezone.now(), rule={"time": "09:00"}, tags=["home"])
    other = make_schedule(ada, [inbox], now=timezone.now(), title="Other")
    Holiday.objects.create(user=ada, first=today(), last=date(2999, 1, 1), tags=["home"])
    said = "Nothing is sent: holiday from"
    page = browser.get("/reminders/").content.decode()
    assert page.count(said) == 1
    assert said in browser.get(f"/reminders/{schedule.id}/").content.decode()
    assert said not in browser.get(f"/reminders/{other.id}/").content.decode()
    timing = {"title": "X", "kind": "daily", "time": "09:00", "time_zone": "UTC", "channels": [str(inbox.id)]}
    assert said in browser.post("/reminders/preview/", timing | {"tags": "Home"}).content.decode()
    assert said not in browser.post("/reminders/preview/", timing).content.decode()
    assert said not in browser.post("/reminders/preview/", timing | {"tags": "home", "urgent": "on"}).content.decode()
