"""Quick add on the page of a new reminder, its presets, and the values that a form begins with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from common.uuid7 import uuid7
from people.models import User
from schedules.changes import editing
from schedules.models import Schedule
from schedules.web.edit import PRESETS
from tests.db.api.conftest import clock_at
from tests.make import NOON, edit_schedule, make_channel


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
    assert (fields["title"], fields["at"]) == ("dentist & more", "2026-06-02T15:00")


def test_a_span_begins_at_its_start_and_stands_in_the_text(browser: Client) -> None:
    _, fields = understood(browser, "camp 12 to 16 October")
    assert (fields["at"], fields["body"]) == ("2026-10-12T09:00", "12 to 16 October")


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
    assert (shown["title"], shown["nth"], shown["ends_at"]) == ("beer", -1, "2027-02-28T23:59")
    assert browser.post("/reminders/new/", shown).status_code == 302
    made = Schedule.objects.get()
    assert (made.title, made.rule["rule"].splitlines()[1]) == ("beer", "RRULE:FREQ=MONTHLY;BYDAY=-1FR")


def test_a_new_form_begins_at_a_full_hour_to_come(browser: Client, ada: User) -> None:
    User.objects.filter(id=ada.id).update(time_zone="Europe/Berlin")
    form = browser.get("/reminders/new/").context["form"]
    begins = {"at": "2026-06-01T15:00", "time": "09:00", "days": ["0"], "day": 1, "month": 6}
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


@pytest.fixture
def berlin(ada: User) -> User:
    ada.time_zone = "Europe/Berlin"
    ada.save()
    return ada


def test_the_words_of_the_time_are_marked_and_the_time_is_told(browser: Client, berlin: User) -> None:
    page, _ = understood(browser, "call  the bank tomorrow at 5pm <b>")
    assert "call the bank <mark>tomorrow at 5pm</mark> &lt;b&gt;" in page
    assert "Tue 2 Jun, 17:00" in page


def test_only_a_line_that_is_sent_is_refused_in_red(browser: Client) -> None:
    headers = {"HX-Request": "true", "HX-Trigger-Name": "quick"}
    assert (
        'class="error"' not in browser.get("/reminders/quick/", {"quick": "call mum"}, headers=headers).content.decode()
    )


@pytest.mark.parametrize("view", ["list", "day", "week", "month"])
def test_a_line_above_each_view_creates_a_reminder_and_can_be_undone(browser: Client, berlin: User, view: str) -> None:
    channel = make_channel(berlin)
    place = "/reminders/" if view == "list" else f"/reminders/{view}/"
    page = browser.get(place)
    form = {"quick": "call the bank tomorrow at 5pm", "made_as": page.context["made_as"], "view": view}
    answer = browser.post("/reminders/quick/add/", form | {"on": "2026-06-02"}, follow=True)
    made = Schedule.objects.get()
    assert answer.redirect_chain[-1][0].startswith(place)
    assert (made.title, made.rule, list(made.channels.all())) == (
        "call the bank",
        {"at": "2026-06-02T17:00:00"},
        [channel],
    )
    assert answer.context["added"] == made and f'action="/reminders/{made.id}/delete/"' in answer.content.decode()
    browser.post("/reminders/quick/add/", form)  # sent twice
    assert Schedule.objects.count() == 1
    for number, line in enumerate(("call mum tomorrow at 5pm", "call the bank tomorrow at 6pm"), 2):
        browser.post("/reminders/quick/add/", form | {"quick": line})  # an old page, another line
        assert Schedule.objects.count() == number


@pytest.mark.parametrize(
    "line",
    [
        "tea in 5 minutes",
        "tea in 9 seconds",
        "tea every 20 minutes",
        "tea every Sunday 18:00 5 times",
        "camp 12 to 16 June",
    ],
)
def test_a_line_that_is_sent_again_makes_one_reminder_also_in_the_next_minute(
    browser: Client, berlin: User, line: str
) -> None:
    make_channel(berlin)
    form = {"quick": line, "made_as": str(uuid7())}
    for later in (0, 59):
        with clock_at(NOON + timedelta(seconds=later)):
            browser.post("/reminders/quick/add/", form)
    assert Schedule.objects.count() == 1


@pytest.mark.parametrize("line", ["tea in 5 minutes", "tea every 20 minutes", "tea at 15:00"])
def test_a_line_that_means_another_time_by_now_makes_another_reminder(browser: Client, berlin: User, line: str) -> None:
    make_channel(berlin)
    form = {"quick": line, "made_as": str(uuid7())}  # the browser's Back shows the page with its id again
    for later in (0, 3, 60 * 24):
        with clock_at(NOON + timedelta(minutes=later)):
            for _click in range(2):
                browser.post("/reminders/quick/add/", form)
    assert Schedule.objects.count() == 2 + ("15:00" not in line)


def test_a_line_that_is_sent_again_once_its_reminder_is_deleted_makes_another(browser: Client, berlin: User) -> None:
    make_channel(berlin)
    form = {"quick": "tea tomorrow 9:00", "made_as": str(uuid7())}
    browser.post("/reminders/quick/add/", form)
    made = Schedule.objects.get()
    edit_schedule(made, title="green tea", rule={"at": "2026-06-02T10:00:00"})  # it stays the one of that line
    browser.post("/reminders/quick/add/", form)
    assert Schedule.objects.get() == made
    editing.delete(made.id, NOON, berlin)
    browser.post("/reminders/quick/add/", form)
    assert Schedule.objects.for_user(berlin).get().title == "tea" and Schedule.objects.count() == 2


@pytest.mark.parametrize("line", ["call mum tomorrow 9:00 " + "x" * 300, "日" * 40_000])
def test_a_line_that_is_too_long_is_refused_with_its_length(browser: Client, berlin: User, line: str) -> None:
    answer = browser.post("/reminders/quick/add/", {"quick": line}, follow=True)
    assert "longer than 300 characters" in answer.context["reading"].error
    assert not Schedule.objects.exists()


def test_a_line_that_is_not_enough_leads_to_the_form(browser: Client, berlin: User) -> None:
    make_channel(berlin)
    answer = browser.post("/reminders/quick/add/", {"quick": "call mum"}, follow=True)
    assert answer.redirect_chain[-1][0] == "/reminders/new/?quick=call+mum" and answer.context["reading"].error
    answer = browser.post("/reminders/quick/add/", {"quick": "tomorrow 9"}, headers={"HX-Request": "true"})
    assert 'class="error"' in answer.content.decode()
    assert not Schedule.objects.exists()


def test_without_a_channel_the_form_is_filled(browser: Client, berlin: User) -> None:
    line = {"quick": "call mum tomorrow 9:00"}
    answer = browser.post("/reminders/quick/add/", line, headers={"HX-Request": "true"})
    page = browser.get(answer["HX-Redirect"])
    assert (
        page.context["form"]["title"].value() == "call mum" and "Choose at least one channel." in page.content.decode()
    )
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("title", "timing", "is_asked"),
    [
        ("call the bank tomorrow at 5pm", {"kind": "once", "at": "2026-06-02T13:00"}, True),
        ("call the bank tomorrow at 5pm", {"kind": "once", "at": "2026-06-02T17:00"}, False),
        ("call the bank tomorrow at 5pm", {"kind": "daily", "time": "17:00"}, False),
        ("stand-up 9:30", {"kind": "daily", "time": "09:30"}, False),
        ("stand-up 9:30", {"kind": "daily", "time": "09:20"}, True),
        ("yoga every Monday", {"kind": "once", "at": "2026-06-02T13:00"}, True),
        ("yoga every Monday", {"kind": "daily", "time": "13:00"}, False),
        ("cake for Friday", {"kind": "once", "at": "2026-06-02T13:00"}, False),
        ("room 12", {"kind": "once", "at": "2026-06-02T13:00"}, False),
    ],
)
def test_a_title_with_another_time_is_asked_about_before_it_is_saved(
    browser: Client, berlin: User, title: str, timing: dict[str, str], is_asked: bool
) -> None:
    typed = {
        "title": title,
        "time_zone": "Europe/Berlin",
        "channels": str(make_channel(berlin).id),
        "step": "1",
        **timing,
    }
    answer = browser.post("/reminders/new/", typed)
    assert (answer.status_code, Schedule.objects.exists()) == ((200, False) if is_asked else (302, True))
    if is_asked:
        assert browser.post("/reminders/new/", typed | {"title_time": "keep"}).status_code == 302
        assert Schedule.objects.get().title == title


def test_the_time_of_a_title_is_taken_when_that_is_chosen(browser: Client, berlin: User) -> None:
    typed = {"title": "call the bank tomorrow at 5pm", "kind": "once", "at": "2026-06-02T13:00"}
    typed |= {"time_zone": "Europe/Berlin", "channels": str(make_channel(berlin).id)}
    assert browser.post("/reminders/new/", typed | {"title_time": "take"}).status_code == 302
    made = Schedule.objects.get()
    assert (made.title, made.rule) == ("call the bank", {"at": "2026-06-02T17:00:00"})
    # A title that stays is not asked about again.
    Schedule.objects.update(title="call the bank tomorrow at 5pm")
    edited = typed | {"version": str(made.version), "at": "2026-06-03T13:00"}
    assert browser.post(f"/reminders/{made.id}/edit/", edited).status_code == 302
