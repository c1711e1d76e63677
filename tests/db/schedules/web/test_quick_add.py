"""Quick add on the page of a new reminder, its presets, and the values that a form begins with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from people.models import User
from schedules.models import Schedule
from schedules.web.edit import PRESETS
from tests.db.api.conftest import clock_at
from tests.make import NOON, make_channel


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    """Monday 1 June 2026, 14:00 in Berlin."""
    with clock_at(NOON):
        yield


def understood(browser: Client, line: str, zone: str = "Europe/Berlin") -> tuple[str, dict[str, Any]]:
    page = browser.get("/reminders/quick/", {"quick": line, "time_zone": zone}).content.decode()
    fields = page.partition('data-fill="')[2].partition('"')[0]
    return page, json.loads(unescape(fields)) if fields else {}


def test_a_line_fills_the_fields_and_says_what_was_understood(browser: Client) -> None:
    page, fields = understood(browser, "water the plants every Sunday 18:00")
    assert (fields["title"], fields["kind"], fields["days"], fields["time"]) == (
        "water the plants",
        "weekly",
        ["6"],
        "18:00",
    )
    assert "Every Sunday at 18:00, Berlin time" in page


@pytest.mark.parametrize(
    ("line", "zone"),
    [
        ("call mum", "Europe/Berlin"),
        ("tomorrow 9 dentist", ""),
        ("tomorrow 9 dentist", "GMT+2"),
        ("in 9000 years x", "UTC"),
    ],
)
def test_what_is_not_understood_fills_nothing_and_gives_a_hint(browser: Client, line: str, zone: str) -> None:
    page, fields = understood(browser, line, zone)
    assert fields == {}
    assert 'class="error"' in page and len(page) > 60


def test_a_line_with_two_meanings_is_asked_about_and_the_answer_is_read(browser: Client) -> None:
    page, fields = understood(browser, "dentist tomorrow at 3 & more")
    assert fields == {}
    assert '<button name="quick" value="dentist tomorrow 03:00 &amp; more">03:00 at night</button>' in page
    assert '<button name="quick" value="dentist tomorrow 15:00 &amp; more">15:00</button>' in page
    page, fields = understood(browser, "dentist tomorrow 15:00 & more")
    assert (fields["title"], fields["at"]) == ("dentist & more", "2026-06-02T15:00:00")


def test_a_span_begins_at_its_start_and_stands_in_the_text(browser: Client) -> None:
    _, fields = understood(browser, "camp 12 to 16 October")
    assert (fields["at"], fields["body"]) == ("2026-10-12T09:00:00", "12 to 16 October")


def test_what_was_written_is_data(browser: Client) -> None:
    page, fields = understood(browser, "tomorrow 9 <b>&amp;'</b>")
    assert "<b>" not in page
    assert fields["title"] == "<b>&amp;'</b>"


@pytest.mark.parametrize("line", PRESETS)
def test_a_preset_sets_the_time_and_leaves_the_rest(browser: Client, line: str) -> None:
    _, fields = understood(browser, line)
    assert fields.keys() == {"time_zone", "kind", "at"}


def test_without_scripts_the_page_is_filled(browser: Client, ada: User) -> None:
    User.objects.filter(id=ada.id).update(time_zone="Europe/Berlin")
    make_channel(ada)
    form = browser.get("/reminders/new/", {"quick": "every last Friday 16:00 beer until March"}).context["form"]
    shown = {field.html_name: field.value() for field in form if field.value() is not None}
    assert (shown["title"], shown["nth"], shown["ends_at"]) == ("beer", "-1", "2027-02-28T23:59")
    assert browser.post("/reminders/new/", shown).status_code == 302
    made = Schedule.objects.get()
    assert (made.title, made.rule["rule"].splitlines()[1]) == ("beer", "RRULE:FREQ=MONTHLY;BYDAY=-1FR")


def test_a_new_form_begins_at_a_full_hour_to_come(browser: Client, ada: User) -> None:
    User.objects.filter(id=ada.id).update(time_zone="Europe/Berlin")
    form = browser.get("/reminders/new/").context["form"]
    begins = {"at": "2026-06-01T15:00", "time": "09:00", "days": ["0"], "day": "1", "month": "6"}
    assert {name: form[name].value() for name in begins} == begins


def test_an_emptied_zone_is_marked_and_an_empty_time_is_not(browser: Client) -> None:
    page = browser.post("/reminders/preview/", {"kind": "once", "at": "", "time_zone": ""}).content.decode()
    assert 'id="id_time_zone_error"' in page and 'id="error-at"' not in page


def test_the_preview_shows_the_offset_of_the_zone(browser: Client) -> None:
    typed = {"kind": "daily", "time": "09:00", "time_zone": "Etc/GMT+2"}
    assert "UTC-02:00" in browser.post("/reminders/preview/", typed).content.decode()


def test_a_zone_typed_as_an_offset_suggests_cities(browser: Client) -> None:
    typed = {"kind": "daily", "time": "09:00", "time_zone": "UTC+5:30"}
    page = browser.post("/reminders/preview/", typed).content.decode()
    assert "Asia/Kolkata" in page and "UTC+05:30" in page
    assert "Etc/GMT-2" in browser.post("/reminders/preview/", typed | {"time_zone": "GMT+2"}).content.decode()
