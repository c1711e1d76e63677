"""Reminders on working days: the form, the API, quick add, firing and Explain."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import translation

from people.models import User
from schedules.explain import history
from schedules.inputs import quick_add
from schedules.models import Schedule
from tests.db.api.conftest import Api, wrong_fields
from tests.make import make_channel, make_schedule, make_user, signed_in

pytestmark = pytest.mark.django_db

OFF = {"off_days": "skip", "public_holidays": "DE-BY"}


@pytest.fixture
def ada() -> User:
    return make_user(public_holidays="DE-BY")


@pytest.fixture
def api(ada: User) -> Api:
    return Api(ada, ("read", "schedules"))


def test_the_form_takes_them_and_shows_them_again(ada: User) -> None:
    browser, channel = signed_in(ada), make_channel(ada)
    form = {
        "title": "Standup",
        "kind": "daily",
        "time": "09:00",
        "time_zone": "Europe/Berlin",
        "channels": [str(channel.id)],
    }
    browser.post("/reminders/new/", form | {"off_days": "next", "public_holidays": "de-by"})
    schedule = Schedule.objects.get()
    assert schedule.rule == {"time": "09:00", "off_days": "next", "public_holidays": "DE-BY"}
    page = browser.get(f"/reminders/{schedule.id}/edit/").content.decode()
    assert '<option value="next" selected>' in page
    browser.post(f"/reminders/{schedule.id}/edit/", form | {"version": "1", "off_days": "", "public_holidays": "DE-BY"})
    schedule.refresh_from_db()
    assert schedule.rule == {"time": "09:00"}


def test_a_new_form_has_the_country_of_its_person_and_refuses_another_word(ada: User) -> None:
    browser = signed_in(ada)
    assert 'name="public_holidays" value="DE-BY"' in browser.get("/reminders/new/").content.decode()
    form = {
        "title": "Standup",
        "kind": "weekly",
        "days": ["5"],
        "time": "09:00",
        "time_zone": "UTC",
        "off_days": "skip",
    }
    page = browser.post("/reminders/new/", form | {"public_holidays": "Mars"}).content.decode()
    assert "Enter the two letters of a country" in page
    assert "All its times are on days off" in browser.post("/reminders/new/", form).content.decode()
    assert not Schedule.objects.exists()


def test_the_api_takes_and_returns_them_and_keeps_them_in_a_patch(api: Api, ada: User) -> None:
    body = {"title": "Pay", "time_zone": "Europe/Berlin", "channel_ids": [str(make_channel(ada).id)]}
    timing = {"monthly": {"time": "09:00", "day": 1, "short": "last", "off_days": "next", "public_holidays": "DE"}}
    made = api("POST", "/schedules", body | {"timing": timing})
    assert made.status_code == 201, made.content
    assert made.json()["timing"] == timing
    assert "on the next working day" in made.json()["description"]
    patched = api("PATCH", f"/schedules/{made.json()['id']}", {"title": "Salary"})
    assert patched.json()["timing"] == timing
    wrong = {"daily": {"time": "09:00", "off_days": "skip", "public_holidays": "DE-Paris"}}
    assert wrong_fields(api("POST", "/schedules", body | {"timing": wrong})) == ["timing.daily.public_holidays"]


@pytest.mark.parametrize(
    ("line", "language", "timing"),
    [
        ("standup every working day 9:00", "en", {"daily": {"time": "09:00"} | OFF}),
        ("standup every business day at 9am", "en", {"daily": {"time": "09:00"} | OFF}),
        ("jeden Werktag um 9 Uhr Standup", "de", {"daily": {"time": "09:00"} | OFF}),
        ("jeden Arbeitstag 9:00 Standup", "de", {"daily": {"time": "09:00"} | OFF}),
        ("cada día laborable a las 9:00 reunión", "es", {"daily": {"time": "09:00"} | OFF}),
        ("cada día hábil 9:00 reunión", "es", {"daily": {"time": "09:00"} | OFF}),
        ("standup every weekday 9:00", "en", {"weekly": {"time": "09:00", "days": [0, 1, 2, 3, 4]}}),
        ("jeden Wochentag 9:00 Standup", "de", {"weekly": {"time": "09:00", "days": [0, 1, 2, 3, 4]}}),
        (
            "pills every working day at 8:00 and 20:00", "en",
            {"cron": {"expression": "0 8,20 * * mon,tue,wed,thu,fri"} | OFF},
        ),
        (
            "jede Stunde werktags von 9 bis 17 Uhr trinken", "de",
            {"cron": {"expression": "0 9-17 * * mon,tue,wed,thu,fri"} | OFF},
        ),
        ("cada hora entre semana agua", "es", {"cron": {"expression": "0 * * * mon,tue,wed,thu,fri"}}),
        ("run every hour except working days", "en", {"cron": {"expression": "0 * * * sat,sun"}}),
    ],
)  # fmt: skip
def test_quick_add_reads_working_days_of_who_has_chosen_a_country(
    line: str, language: str, timing: dict[str, object]
) -> None:
    with translation.override(language):
        reading = quick_add.read(line, "Europe/Berlin", datetime(2026, 12, 1, tzinfo=UTC), country="DE-BY")
    assert reading.timetable is not None, reading.error
    assert {reading.timetable.rule.kind: reading.timetable.rule.data()} == timing


def test_the_api_and_the_pages_read_them_with_the_country_of_their_person(api: Api, ada: User) -> None:
    line = "standup every working day 9:00"
    assert api("POST", "/schedules/quick-add", {"text": line}).json()["timing"] == {"daily": {"time": "09:00"} | OFF}
    make_channel(ada)
    signed_in(ada).post("/reminders/quick/add/", {"quick": line})
    assert Schedule.objects.get().rule == {"time": "09:00"} | OFF


def test_without_a_country_a_working_day_is_monday_to_friday(api: Api, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(public_holidays="")
    read = api("POST", "/schedules/quick-add", {"text": "standup every working day 9:00"}).json()
    assert read["timing"] == {"weekly": {"time": "09:00", "days": [0, 1, 2, 3, 4]}}


def test_explain_names_the_public_holiday_on_which_nothing_comes(ada: User) -> None:
    now = datetime(2026, 12, 24, 12, tzinfo=UTC)
    schedule = make_schedule(ada, [make_channel(ada)], now=now, rule={"time": "09:00"} | OFF)
    shown = [(f"{one.slot:%m-%d}", one.outcome) for one in history.coming(schedule, now, 2)]
    assert shown[:2] == [("12-25", "skipped"), ("12-28", "coming")]
