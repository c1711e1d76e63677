"""A calendar program reads a person's reminders at a secret address."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from common.parsing.budget import Budget
from config import logs
from notifications.channels import key_rotation
from people.models import CalendarFeed, User
from schedules.agenda import feed
from schedules.changes import editing
from schedules.job_kinds import calendar_file
from schedules.job_kinds.calendar_events import ReminderTimes, wanted
from schedules.job_kinds.calendar_file import FileEvent
from schedules.models import Holiday, Schedule
from tests.make import edit_schedule, make_channel, make_delivery, make_schedule, make_user

REMINDER_TIMES = ReminderTimes(before=timedelta(0), uses_alarms=False, all_day_at=datetime(2026, 1, 1, 9).time())  # noqa: DTZ001


def path_of(user: User) -> str:
    made = feed.of(user) or feed.make(user)
    return feed.url(made).partition("/calendar/")[1] + feed.url(made).partition("/calendar/")[2]


def read(user: User, client: Client | None = None, **headers: str) -> HttpResponse:
    answer: HttpResponse = (client or Client()).get(path_of(user), headers=headers)
    return answer


def events_of(answer: HttpResponse) -> list[FileEvent]:
    events, dropped = calendar_file.read(answer.content, answer["Content-Type"], datetime.now(UTC))
    assert dropped == 0
    return events


def at(days: int) -> datetime:
    return (datetime.now(UTC) + timedelta(days=days)).replace(hour=10, minute=0, second=0, microsecond=0)


def once(user: User, when: datetime, **overrides: object) -> Schedule:
    rule = {"at": f"{when:%Y-%m-%dT%H:%M}"}
    return make_schedule(user, now=datetime.now(UTC), **{"kind": "once", "rule": rule} | overrides)


def test_our_own_reader_of_calendars_makes_the_same_reminders_of_it(ada: User) -> None:
    inbox = [make_channel(ada)]
    once(ada, at(3), title="Dentist, at last; “10 o'clock”", channels=inbox)
    make_schedule(ada, inbox, now=datetime.now(UTC), title="Plants")
    once(ada, at(120), title="Too far away", channels=inbox)
    make_schedule(make_user(), title="Not mine")
    answer = read(ada)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    found = wanted(events_of(answer), REMINDER_TIMES, ZoneInfo("Europe/Berlin"), datetime.now(UTC), Budget(seconds=10))
    assert found.unfit == []
    titles = [entry.title for entry in found.entries]
    assert 89 <= titles.count("Plants") <= 91
    [dentist] = [entry for entry in found.entries if entry.title.startswith("Dentist")]
    assert (dentist.title, dentist.next_slot) == ("Dentist, at last; “10 o'clock”", at(3))
    assert len(titles) == titles.count("Plants") + 1


def test_an_event_leads_to_its_reminder_and_keeps_its_uid(ada: User, settings: Settings) -> None:
    settings.BASE_URL = "https://carillon.example"
    schedule = once(ada, at(3))
    [before] = events_of(read(ada))
    assert before.url == f"https://carillon.example/reminders/{schedule.id}/"
    assert before.uid.endswith("@carillon.example")
    edit_schedule(schedule, datetime.now(UTC), title="Other")
    [after] = events_of(read(ada))
    assert (after.uid, after.title) == (before.uid, "Other")


def test_what_was_sent_stands_in_it_too(ada: User) -> None:
    inbox = make_channel(ada)
    sent = make_delivery(
        inbox, state="delivered", settled_at=datetime.now(UTC), origin_id=make_schedule(ada, [inbox]).id
    )
    texts = [event.url for event in events_of(read(ada))]
    assert any(url.endswith(f"/history/{sent.notification_id}/") for url in texts)


def test_what_comes_all_the_time_is_one_event_a_day(ada: User) -> None:
    rule = {"every": 1, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}
    make_schedule(ada, now=datetime.now(UTC), title="Stretch", kind="interval", rule=rule)
    events = events_of(read(ada))
    assert 90 <= len(events) <= 92
    assert "1440 times" in events[5].title.replace(",", "")


def test_it_is_in_the_language_of_its_owner(ada: User) -> None:
    """The calendar program has another one."""
    rule = {"every": 1, "unit": "minutes", "anchor": "2026-06-01T00:00:00+00:00"}
    make_schedule(ada, now=datetime.now(UTC), title="Stretch", kind="interval", rule=rule)
    User.objects.filter(id=ada.id).update(language="de")
    text = read(ada, accept_language="es").content.decode()
    assert "-mal)" in text
    assert "veces)" not in text


def test_what_a_holiday_keeps_silent_is_not_in_it(ada: User) -> None:
    Holiday.objects.create(user=ada, first=at(3).date(), last=at(4).date())
    inbox = [make_channel(ada)]
    once(ada, at(3), channels=inbox)
    once(ada, at(6), title="Later", channels=inbox)
    assert [event.title for event in events_of(read(ada))] == ["Later"]


def test_there_are_at_most_a_thousand_events(ada: User) -> None:
    inbox = [make_channel(ada)]
    for hour in range(12):
        make_schedule(ada, inbox, now=datetime.now(UTC), rule={"time": f"{hour:02}:00"})
    events = events_of(read(ada))
    assert len(events) == feed.MOST
    assert events == sorted(events, key=lambda event: event.start.at if event.start else "")


def test_an_unchanged_calendar_is_not_sent_again(ada: User) -> None:
    schedule = once(ada, at(3))
    first = read(ada)
    assert first["Cache-Control"] == "private"
    again = read(ada, if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    editing.pause(schedule.id, datetime.now(UTC))
    assert read(ada, if_none_match=first["ETag"]).status_code == 200


def test_the_address_is_encrypted_and_found_by_its_hash_alone(ada: User, settings: Settings) -> None:
    secret = path_of(ada).removeprefix("/calendar/").removesuffix(".ics")
    assert len(secret) == 40
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(f)::text FROM people_calendarfeed f")
        assert secret not in cursor.fetchone()[0]
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    done = key_rotation.Rotated()
    assert list(key_rotation.rotate(done)) == [CalendarFeed]
    assert done.sealed == 1
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    assert path_of(ada) == f"/calendar/{secret}.ics"


def test_logs_do_not_show_it(ada: User) -> None:
    path = path_of(ada)
    assert logs.redact(f'"GET {path} HTTP/1.1" 200') == '"GET /calendar/••• HTTP/1.1" 200'


@pytest.mark.parametrize("change", ["replaced", "removed", "its person is switched off"])
def test_an_address_that_is_revoked_checks_like_one_that_never_was(ada: User, change: str) -> None:
    path = path_of(ada)
    assert Client().get(path).status_code == 200
    if change == "replaced":
        feed.make(ada)
    elif change == "removed":
        feed.remove(ada)
    else:
        User.objects.filter(id=ada.id).update(is_active=False)
    gone, never = Client().get(path), Client().get(f"/calendar/{'x' * 40}.ics")
    assert (gone.status_code, never.status_code) == (404, 404)
    assert gone.content == never.content
    assert "private" in gone["Cache-Control"] and "no-store" in gone["Cache-Control"]


def test_it_has_a_rate_limit_of_its_own(ada: User, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    path, other = path_of(ada), path_of(make_user())
    client = Client()
    assert [client.get(path).status_code for _ in range(3)] == [200, 200, 429]
    assert client.get(other).status_code == 200
    assert [client.get("/calendar/guess.ics").status_code for _ in range(3)] == [404, 404, 429]


def test_it_is_only_read(ada: User) -> None:
    assert Client().post(path_of(ada)).status_code == 405


def test_the_page_makes_replaces_and_removes_the_address(browser: Client, ada: User) -> None:
    page = "/reminders/calendar-address/"
    assert "Create a calendar address" in browser.get(page).content.decode()

    def address() -> list[str]:
        return re.findall(r'<code id="address">(.*?)</code>', browser.get(page).content.decode())

    assert browser.post(f"{page}make/", follow=True).redirect_chain == [(page, 302)]
    [first] = address()
    browser.post(f"{page}make/")
    [second] = address()
    assert first != second
    assert CalendarFeed.objects.filter(user=ada).count() == 1
    browser.post(f"{page}remove/")
    assert address() == []


def test_an_address_that_no_key_opens_can_be_replaced(browser: Client, ada: User, settings: Settings) -> None:
    feed.make(ada)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    page = browser.get("/reminders/calendar-address/").content.decode()
    assert "cannot be read" in page and "Replace the address" in page
