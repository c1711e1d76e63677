"""A calendar's events become, change and end reminders; a second check changes nothing."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from common.parsing import pool as parsing
from demo.receivers import Received
from demo.receivers.http import Answer, Reply
from jobs.models import Job
from notifications.models import Notification
from people import tokens
from schedules.changes import editing, state
from schedules.firing import fire
from schedules.inputs.imports import calendar as calendar_import, items as imports
from schedules.job_kinds.calendar_events import ReminderTimes
from schedules.models import Schedule, ScheduleEvent
from tests.db.locks import locked
from tests.make import check, edit_schedule, make_channel, make_connection, make_job_schedule, make_user, signed_in
from tests.network import served

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DENTIST = "DTSTART:20900105T090000Z\r\nSUMMARY:Dentist"
WEEKLY = "DTSTART;TZID=Europe/Berlin:20900102T090000\r\nRRULE:FREQ=WEEKLY;BYDAY=MO\r\nSUMMARY:Standup"


class Calendar:
    """A calendar that is served here, and the reminder that reads it."""

    def __init__(self) -> None:
        self.events: dict[str, str] = {}
        self.before, self.cut = "", False
        self.user = make_user()
        self.channels = [make_channel(self.user), make_channel(self.user, "email")]

    def answer(self, request: Received) -> Answer:
        events = "".join(f"BEGIN:VEVENT\r\nUID:{uid}\r\n{more}\r\nEND:VEVENT\r\n" for uid, more in self.events.items())
        body = f"BEGIN:VCALENDAR\r\n{self.before}{events}{'' if self.cut else 'END:VCALENDAR'}\r\n".encode()
        tag = f'"{hashlib.sha256(body).hexdigest()}"'
        if request.headers.get("If-None-Match") == tag:
            return Reply(304)
        return Reply(headers={"ETag": tag}, body=body)

    def read_at(self, origin: str, **overrides: Any) -> None:
        self.url = f"{origin}/basic.ics"
        source = make_connection(self.user, "calendar", secrets={"url": self.url})
        payload = {"minutes": 10, "alarms": True, "all_day_at": "09:00", "tell": False} | overrides.pop("payload", {})
        self.schedule = make_job_schedule(
            self.user,
            "calendar_sync",
            payload,
            channels=self.channels,
            connection=source,
            **{"title": "{new} new"} | overrides,
        )

    def check(self) -> Job:
        editing.run_now(self.schedule.id, fire.read_clock().now)
        return check(Job.objects.filter(origin_id=self.schedule.id).latest("id"))

    def reminders(self) -> list[str]:
        own = Schedule.objects.filter(made_by=self.schedule, deleted_at=None)
        return [f"{one.title} {one.next_fire_at:%m-%d %H:%M}" for one in own.order_by("next_fire_at")]


@pytest.fixture
def calendar(settings: Settings) -> Iterator[Calendar]:
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    calendar = Calendar()
    with served(calendar.answer) as receiver:
        calendar.read_at(receiver.origin)
        yield calendar


def test_reminders_begin_change_and_end_with_their_events(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST, "2": WEEKLY, "3": WEEKLY}
    job = calendar.check()
    assert (job.reason_code, job.reason_params["new"]) == ("calendar-checked", 3)
    assert calendar.reminders() == ["Standup 01-02 07:50", "Standup 01-02 07:50", "Dentist 01-05 08:50"]
    calendar.events = {"1": DENTIST.replace("T09", "T11"), "2": WEEKLY}
    job = calendar.check()
    assert {name: job.reason_params[name] for name in ("new", "changed", "ended")} == {
        "new": 0,
        "changed": 1,
        "ended": 1,
    }
    assert calendar.reminders() == ["Standup 01-02 07:50", "Dentist 01-05 10:50"]
    assert not Notification.objects.exists()


def test_a_second_check_changes_nothing_in_a_constant_number_of_statements(calendar: Calendar) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            calendar.check()
        return len(asked)

    calendar.events = {"1": DENTIST}
    calendar.check()
    with_one = statements()
    calendar.events = {str(number): DENTIST for number in range(20)}
    calendar.check()
    known = list(Schedule.objects.order_by("id").values_list("id", "version", "next_fire_at"))
    assert statements() == with_one
    assert list(Schedule.objects.order_by("id").values_list("id", "version", "next_fire_at")) == known


def test_what_its_person_edited_stays(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST}
    calendar.check()
    [made] = Schedule.objects.filter(made_by=calendar.schedule)
    assert made.ordered_channels() == calendar.channels
    edit_schedule(made, fire.read_clock().now, calendar.channels[:1], calendar.user, urgent=True)
    calendar.events = {"1": DENTIST.replace("Dentist", "Doctor")}
    calendar.check()
    made = Schedule.objects.get(id=made.id)
    assert (made.title, made.urgent, made.ordered_channels()) == ("Doctor", True, calendar.channels[:1])


def test_a_reminder_that_its_person_deleted_stays_deleted(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST, "2": WEEKLY}
    calendar.check()
    dentist = Schedule.objects.get(title="Dentist")
    editing.delete(dentist.id, fire.read_clock().now, calendar.user)
    calendar.events["1"] = DENTIST.replace("T09", "T11")
    calendar.check()
    assert calendar.reminders() == ["Standup 01-02 07:50"]


def test_an_event_that_comes_back_has_its_reminder_again(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST, "2": WEEKLY}
    calendar.check()
    del calendar.events["1"]
    calendar.check()
    assert calendar.reminders() == ["Standup 01-02 07:50"]
    calendar.events["1"] = DENTIST
    calendar.check()
    assert calendar.reminders() == ["Standup 01-02 07:50", "Dentist 01-05 08:50"]
    assert Schedule.objects.filter(made_by=calendar.schedule).count() == 2


def test_half_an_answer_ends_no_reminder(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST}
    calendar.check()
    calendar.events, calendar.cut = {}, True
    assert calendar.check().reason_code == "calendar-cut"
    calendar.cut = False
    assert calendar.check().reason_code == "calendar-many-gone"
    assert calendar.reminders() == ["Dentist 01-05 08:50"]
    calendar.check()
    assert calendar.reminders() == []


def test_another_calendar_ends_the_reminders_of_the_first(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST, "2": WEEKLY}
    calendar.check()
    schedule = Schedule.objects.get(id=calendar.schedule.id)
    other = make_connection(calendar.user, "calendar", secrets={"url": calendar.url})
    edit_schedule(schedule, fire.read_clock().now, connection=other)
    calendar.events = {"2": WEEKLY}
    calendar.check()
    assert calendar.reminders() == ["Standup 01-02 07:50"]


def test_no_more_reminders_are_made_than_one_may_have_and_its_person_is_told(
    calendar: Calendar, settings: Settings
) -> None:
    settings.MOST_SCHEDULES = 2
    calendar.events = {"1": DENTIST, "2": WEEKLY}
    calendar.check()
    assert len(calendar.reminders()) == 1
    assert "leaves out 1 event" in Notification.objects.get(origin="notice").subject
    settings.MOST_SCHEDULES = 3
    calendar.check()
    assert len(calendar.reminders()) == 2


def test_one_damaged_event_stops_no_other(calendar: Calendar) -> None:
    calendar.events = {
        "1": DENTIST,
        "\x00\ud800?": "DTSTART:20900105T090000Z\r\nSUMMARY:\x00\x07{name}",
        "3": "DTSTART:x",
    }
    calendar.events = {uid.encode("utf-8", "replace").decode(): more for uid, more in calendar.events.items()}
    job = calendar.check()
    assert (job.state, len(calendar.reminders())) == ("decided", 2)
    assert "Dentist 01-05 08:50" in calendar.reminders()


_CHANGES = "BEGIN:{0}\r\nDTSTART:16010101T000000\r\nRRULE:FREQ=SECONDLY\r\n{1}END:{0}\r\n"
_OFFSETS = "TZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n"
# What stands in the calendar beside an honest event, and what becomes of it: the limit, or why it is not taken.
HOSTILE: dict[str, tuple[str, Any]] = {
    "600,000 lines": ("X:\n" * 600_000, 0),
    "20,000 events": ("BEGIN:VEVENT\r\nEND:VEVENT\r\n" * 20_000, "18001 more are left out"),
    "a zone that changes each second since 1601": (
        f"BEGIN:VTIMEZONE\r\nTZID:Own\r\n{_CHANGES.format('STANDARD', _OFFSETS)}{_CHANGES.format('DAYLIGHT', _OFFSETS)}"
        "END:VTIMEZONE\r\nBEGIN:VEVENT\r\nDTSTART;TZID=Own:20900105T090000\r\nEND:VEVENT\r\n",
        ["seconds", 1],
    ),
    "a series each second": (f"BEGIN:VEVENT\r\n{DENTIST}\r\nRRULE:FREQ=SECONDLY\r\nEND:VEVENT\r\n", "SECONDLY"),
    "a series that never comes": (
        f"BEGIN:VEVENT\r\n{DENTIST}\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\r\nEND:VEVENT\r\n",
        None,
    ),
    "100,000 single dates": (
        f"BEGIN:VEVENT\r\n{DENTIST}\r\nRDATE:{','.join(['20900105T090000Z'] * 100_000)}\r\nEND:VEVENT\r\n",
        "single dates",
    ),
    "100,000 dates that are left out": (
        f"BEGIN:VEVENT\r\n{WEEKLY}\r\nEXDATE:{','.join(['20900109T090000Z'] * 100_000)}\r\nEND:VEVENT\r\n",
        "single dates",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_hostile_calendar_costs_is_bounded_and_said(
    name: str, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, expected = HOSTILE[name]
    if isinstance(expected, list):
        monkeypatch.setattr(parsing, "SECONDS", expected[1])  # the others stay within the product's own limit
    calendar.before, calendar.events = inner, {"honest": DENTIST}
    job = calendar.check()
    assert job.tries == 1
    if isinstance(expected, list):
        assert (job.state, job.reason_code, job.reason_params) == ("dead", "over-budget", {"limit": expected})
    else:
        assert (job.state, job.reason_code) == (
            ("dead", "over-budget") if expected == 0 else ("decided", "calendar-checked")
        )
        assert expected in (0, None) or expected in job.reason


def test_it_tells_what_is_new_where_wanted(calendar: Calendar) -> None:
    Schedule.objects.filter(id=calendar.schedule.id).update(
        job_payload={"minutes": 10, "all_day_at": "09:00", "tell": True}, body="{events}"
    )
    calendar.events = {"1": DENTIST}
    calendar.check()
    calendar.check()
    [said] = Notification.objects.filter(origin="schedule")
    assert (said.subject, said.body.strip()) == ("1 new", "New: Dentist")


def test_its_reminders_say_which_calendar_keeps_them(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST}
    calendar.check()
    [made] = Schedule.objects.filter(made_by=calendar.schedule)
    assert ScheduleEvent.objects.get(schedule=made).by is None
    page = signed_in(calendar.user).get(f"/reminders/{made.id}/").content.decode()
    assert f'href="/reminders/{calendar.schedule.id}/"' in page


def test_reminders_go_and_come_back_with_their_calendar(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST, "2": WEEKLY, "3": DENTIST.replace("Dentist", "Doctor")}
    calendar.check()
    doctor = Schedule.objects.get(title="Doctor")
    deleted = editing.delete(doctor.id, fire.read_clock().now, calendar.user)
    editing.delete(calendar.schedule.id, fire.read_clock().now, calendar.user)
    assert calendar.reminders() == []
    doctor.refresh_from_db()
    assert doctor.version == deleted.version
    editing.restore(calendar.schedule.id, fire.read_clock().now, calendar.user)
    calendar.check()
    assert calendar.reminders() == ["Standup 01-02 07:50", "Dentist 01-05 08:50"]


@pytest.mark.django_db(transaction=True)
def test_a_check_that_finds_its_person_locked_comes_back_and_writes_nothing_meanwhile(calendar: Calendar) -> None:
    calendar.events = {"1": DENTIST}
    with locked("people_user", calendar.user.pk):
        job = calendar.check()
        assert (job.state, job.tries, job.released, job.reason_code) == ("pending", 0, 1, "locked")
        assert job.available_at > fire.read_clock().now
        assert not calendar.reminders()
    Job.objects.filter(id=job.id).update(available_at=fire.read_clock().now)
    job = check(job)
    assert (job.state, job.tries, calendar.reminders()) == ("decided", 1, ["Dentist 01-05 08:50"])


@pytest.mark.django_db(transaction=True)
def test_a_job_commits_while_its_reminder_is_changed(calendar: Calendar) -> None:
    """Its reminders refer to the calendar's own, and who changes that one waits for the job: neither may wait."""
    calendar.events = {"1": DENTIST}
    editing.run_now(calendar.schedule.id, fire.read_clock().now)
    job = Job.objects.filter(origin_id=calendar.schedule.id).latest("id")

    def change() -> None:
        try:
            with transaction.atomic():
                state.lock(Schedule.objects.filter(id=calendar.schedule.id), datetime(2000, 1, 1, tzinfo=UTC))
                changing.set()
                assert decided.wait(30)
        finally:
            connection.close()

    changing, decided = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(change)
        assert changing.wait(30)
        job = check(job)
        assert (job.state, job.reason_code) == ("decided", "calendar-checked")
        decided.set()
        other.result()
    assert calendar.reminders() == ["Dentist 01-05 08:50"]


def test_an_import_and_a_calendar_that_is_followed_read_a_file_alike(calendar: Calendar) -> None:
    later, older = f"{DENTIST}\r\nSEQUENCE:2", f"{DENTIST.replace('T09', 'T11')}\r\nSEQUENCE:1"
    for first, second in ((later, older), (older, later)):
        versions = f"{first}\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\n{second}"
        calendar.events = {"1": versions, "2": WEEKLY}
        calendar.check()
        raw = calendar.answer(Received(NOW, "GET", "/", {}, b"", ("", 0))).body  # type: ignore[union-attr]
        now = fire.read_clock().now
        times = ReminderTimes(before=timedelta(minutes=10), uses_alarms=True, all_day_at=time(9))
        items = imports.plan(calendar.user, calendar_import.read(calendar.user, raw, times, now))
        slots = [f"{item.title} {item.next_slot:%m-%d %H:%M}" for item in items if item.next_slot]
        assert slots == calendar.reminders() == ["Standup 01-02 07:50", "Dentist 01-05 08:50"]


def test_what_of_a_calendar_is_not_taken_is_told_by_the_api_and_on_its_page(calendar: Calendar) -> None:
    mars = "DTSTART;TZID=Mars/Base:20900105T090000\r\nSUMMARY:Landing"
    calendar.events = {"1": DENTIST, "2": mars, "3": mars}
    calendar.check()
    path = f"/api/v1/schedules/{calendar.schedule.id}/occurrences"
    _row, token = tokens.create(calendar.user, "Test", tuple(tokens.SCOPES), None)
    items = Client(headers={"Authorization": f"Bearer {token}"}).get(path).json()["items"]
    said = {"cause": "Its time zone “Mars/Base” is not known.", "count": 2, "example": "Landing"}
    assert [said] in [item["check"]["not_taken"] for item in items if item["check"]]
    page = signed_in(calendar.user).get(f"/reminders/{calendar.schedule.id}/").text
    assert "2 not taken: 2 × Its time zone “Mars/Base” is not known (“Landing”)" in page
    assert "2: Its time zone “Mars/Base” is not known. (“Landing”)" in page
