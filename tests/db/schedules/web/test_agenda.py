"""The pages of a day, a week and a month, and moving a reminder on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from notifications.models import Notification
from notifications.reasons import DeliveryCode
from people.models import User
from schedules.agenda.entry import Entry
from schedules.changes import editing
from schedules.models import Holiday, Schedule
from schedules.web.agenda import DayRows
from tests.db.api.conftest import clock_at
from tests.make import NOON, make_channel, make_delivery, make_schedule, make_user


@pytest.fixture
def noon() -> Iterator[None]:
    """Monday 1 June 2026, 14:00 in Berlin."""
    with clock_at(NOON):
        yield


def once(user: User, at: str, **overrides: Any) -> Schedule:
    fields = {"title": "Dentist", "kind": "once", "rule": {"at": at}, "time_zone": "Europe/Berlin"} | overrides
    return make_schedule(user, **fields)


def days(browser: Client, page: str) -> list[DayRows]:
    found: list[DayRows] = browser.get(page).context["days"]
    return found


def rows(browser: Client, page: str) -> list[Entry]:
    return [row for day in days(browser, page) for row in day.rows]


def seen(browser: Client, page: str) -> list[str]:
    return [f"{row.clock:%d %H:%M} {row.title}" for row in rows(browser, page)]


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("day", date(2026, 6, 1), date(2026, 6, 1)),
        ("week", date(2026, 6, 1), date(2026, 6, 7)),
        ("month", date(2026, 6, 1), date(2026, 7, 5)),
        ("day/?date=2026-06-30", date(2026, 6, 30), date(2026, 6, 30)),
        ("week/?date=2026-11-26", date(2026, 11, 26), date(2026, 12, 2)),
        ("month/?date=2026-02-28", date(2026, 1, 26), date(2026, 3, 1)),
        ("month/?date=2027-01-15", date(2026, 12, 28), date(2027, 1, 31)),
    ],
)
def test_a_page_has_its_days_and_a_month_whole_weeks(
    noon: None, browser: Client, page: str, first: date, last: date
) -> None:
    found = days(browser, f"/reminders/{page}{'' if '?' in page else '/'}")
    assert (found[0].date, found[-1].date, len(found)) == (first, last, (last - first).days + 1)


@pytest.mark.parametrize("text", ["x", "2026-02-30", "0001-01-01", "9999-12-31", "%00"])
@pytest.mark.parametrize("view", ["day", "week", "month"])
def test_a_date_that_is_none_leads_to_today(noon: None, browser: Client, view: str, text: str) -> None:
    assert browser.get(f"/reminders/{view}/?date={text}").context["chosen"] == date(2026, 6, 1)


@pytest.mark.parametrize(
    ("view", "previous", "following"),
    [
        ("day", date(2026, 1, 30), date(2026, 2, 1)),
        ("week", date(2026, 1, 24), date(2026, 2, 7)),
        ("month", date(2025, 12, 1), date(2026, 2, 1)),
    ],
)
def test_pages_lead_to_the_ones_beside_them(browser: Client, view: str, previous: date, following: date) -> None:
    context = browser.get(f"/reminders/{view}/?date=2026-01-31").context
    assert (context["previous"], context["next"]) == (previous, following)


def test_a_month_folds_a_full_day_and_the_day_shows_all(noon: None, browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    for hour in range(8, 13):
        once(ada, f"2026-06-03T{hour:02}:00", channels=inbox, title=f"At {hour}")
    day = days(browser, "/reminders/month/")[2]
    assert ([row.title for row in day.rows], day.more) == (["At 8", "At 9", "At 10"], 2)
    assert "2 more" in browser.get("/reminders/month/").content.decode()
    assert len(seen(browser, "/reminders/day/?date=2026-06-03")) == 5


def test_a_row_says_what_holds_it(noon: None, browser: Client, ada: User) -> None:
    ada.quiet_from, ada.quiet_until = time(22), time(7)
    ada.save()
    email = [make_channel(ada, "email")]
    once(ada, "2026-06-03T23:30", channels=email)
    snoozed = once(ada, "2026-06-05T10:00", channels=email)
    editing.snooze(snoozed.id, NOON + timedelta(hours=1), NOON)
    quiet, other = rows(browser, "/reminders/week/")
    assert (quiet.held_until, quiet.is_snoozed) == ("07:00", False)
    assert [channel.provider for channel in quiet.channels] == ["email"]
    assert (other.held_until, other.slot) == ("", "2026-06-05T08:00:00.000000Z")


def test_a_row_says_that_a_holiday_keeps_it_silent(noon: None, browser: Client, ada: User) -> None:
    Holiday.objects.create(user=ada, first=date(2026, 6, 3), last=date(2026, 6, 4))
    inbox = [make_channel(ada)]
    once(ada, "2026-06-04T10:00", channels=inbox)
    once(ada, "2026-06-05T10:00", channels=inbox)
    within, after = rows(browser, "/reminders/week/")
    assert within.holiday and not after.holiday
    assert within.holiday in browser.get("/reminders/week/").content.decode()


def test_days_past_show_what_was_sent_and_what_became_of_it(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    one, other = make_schedule(ada, [inbox]), make_schedule(ada, [inbox])
    arrived = make_delivery(inbox, state="delivered", origin_id=one.id, subject="Arrived")
    make_delivery(inbox, state="delivered", reason_code=DeliveryCode.SAVED, origin_id=other.id, subject="Saved")
    make_delivery(inbox, state="dead", origin_id=one.id, subject="Failed")
    make_delivery(inbox, origin_id=one.id, subject="Waiting")
    make_delivery(inbox, state="delivered", origin="test", subject="A test")
    make_delivery(make_channel(make_user()), state="delivered", subject="Not mine")
    found = {row.title: row for row in rows(browser, "/reminders/day/") if row.notification_id}
    states = {title: row.state for title, row in found.items()}
    assert states == {"Arrived": "fired", "Saved": "saved", "Failed": "dead", "Waiting": "pending"}
    assert found["Arrived"].notification_id == arrived.notification_id
    page = browser.get("/reminders/day/").content.decode()
    assert f"/history/{arrived.notification_id}/" in page
    assert "failed" in page and ">dead<" not in page


def test_a_time_for_which_nothing_was_sent_leads_to_why(browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    plants, stretch = make_schedule(ada, inbox, title="Plants"), make_schedule(ada, inbox, title="Stretch")
    make_schedule(make_user(), title="Not mine")
    for schedule in Schedule.objects.all():
        for hour in (9, 10)[: 1 + (schedule == stretch)]:
            schedule.occurrences.create(
                scheduled_for=NOON.replace(hour=hour), outcome="skipped", reason="misfire", version=1
            )
    with clock_at(NOON + timedelta(days=1)):
        found = {row.title: row for row in rows(browser, "/reminders/day/?date=2026-06-01")}
        page = browser.get("/reminders/month/").content.decode()
    assert {title: (row.state, row.count) for title, row in found.items()} == {
        "Plants": ("skipped", 1),
        "Stretch": ("skipped", 2),
    }
    assert f"/reminders/{plants.id}/explain/" in page and "Not mine" not in page


def test_what_was_sent_often_is_one_entry_a_day(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    schedule = make_schedule(ada, [inbox])
    for _ in range(5):
        make_delivery(inbox, state="delivered", origin_id=schedule.id)
    found = [row for row in rows(browser, "/reminders/month/") if row.notification_id]
    assert [entry.count for entry in found] == [5]


def test_today_shows_what_is_still_to_come_before_what_was_sent(browser: Client, ada: User) -> None:
    inbox = make_channel(ada)
    for number in range(4):
        make_delivery(inbox, state="delivered", origin_id=make_schedule(ada, [inbox]).id, subject=f"Sent {number}")
    Schedule.objects.update(deleted_at=NOON, next_fire_at=None)
    now = datetime.now(UTC)
    with clock_at(now.astimezone(ada.zone).replace(hour=12).astimezone(UTC)):
        soon = (now.astimezone(ada.zone)).replace(hour=23, minute=59)
        once(ada, f"{soon:%Y-%m-%dT%H:%M}", now=now, title="To come", channels=[inbox])
        [today] = [day for day in days(browser, "/reminders/month/") if day.is_today]
    assert "To come" in {row.title for row in today.rows}
    assert (len(today.rows), today.more) == (3, 2)


def test_an_empty_week_leads_to_a_new_reminder_on_its_first_day(noon: None, browser: Client) -> None:
    page = browser.get("/reminders/week/?date=2026-06-17").content.decode()
    assert "/reminders/new/?date=2026-06-17" in page
    past = browser.get("/reminders/week/?date=2026-04-01").content.decode()
    assert "/reminders/new/?date=2026-04-01" not in past


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("?date=2026-06-17", "2026-06-17T09:00"),
        ("?date=2026-06-01", "2026-06-01T15:00"),
        ("?date=2026-06-17&time=14:00", "2026-06-17T14:00"),
        ("?date=2026-06-01&time=14:30", "2026-06-01T14:30"),
        ("?date=2026-06-01&time=14:30:20", "2026-06-01T14:30"),
        ("?date=2026-06-01&time=13:00", "2026-06-01T15:00"),
        ("?date=2026-06-17&time=25:00", "2026-06-17T09:00"),
        ("?date=2026-05-01", "2026-06-01T15:00"),
        ("?date=2026-02-30", "2026-06-01T15:00"),
        ("", "2026-06-01T15:00"),
    ],
)
def test_the_form_begins_on_the_chosen_day(noon: None, browser: Client, query: str, at: str) -> None:
    assert browser.get(f"/reminders/new/{query}").context["form"]["at"].value() == at


def test_a_move_is_told_with_its_undo(noon: None, browser: Client, ada: User) -> None:
    schedule = once(ada, "2026-06-03T10:00")
    typed = {"date": "2026-06-05", "version": 1, "view": "week", "on": "2026-06-01"}
    answer = browser.post(f"/reminders/{schedule.id}/move/", typed, follow=True)
    assert answer.redirect_chain[0][0].startswith("/reminders/week/?date=2026-06-01&")
    page = answer.content.decode()
    assert "is moved to Friday 5 June, 10:00" in page
    assert seen(browser, "/reminders/week/") == ["05 10:00 Dentist"]
    notice = page.partition('class="message success"')[2].partition("</form>")[0]
    assert undone(browser, schedule, notice) == "“Dentist” is back on Wed 3 Jun, 10:00."
    assert seen(browser, "/reminders/week/") == ["03 10:00 Dentist"]
    assert undone(browser, schedule, notice) == "Nothing was undone: “Dentist” has rung or changed since."
    assert seen(browser, "/reminders/week/") == ["03 10:00 Dentist"]


def undone(browser: Client, schedule: Schedule, notice: str) -> str:
    """What is said after Undo of a notice."""
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', notice))
    page = browser.post(f"/reminders/{schedule.id}/move/undo/", fields, follow=True).content.decode()
    found = re.search(r'class="message (?:success|error)"[^>]*>\s*(?:<span>)?([^<]*)', page)
    return "" if found is None else found[1].strip()


@pytest.mark.parametrize("which", ["one", "all"])
def test_a_move_of_what_repeats_is_undone(noon: None, browser: Client, ada: User, which: str) -> None:
    schedule = make_schedule(ada, kind="weekly", rule={"time": "09:00", "days": [2, 3]}, time_zone="Europe/Berlin")
    before = seen(browser, "/reminders/week/?date=2026-06-01")
    typed = {"date": "2026-06-04", "time": "16:00", "slot": "2026-06-03T07:00:00Z", "version": 1, "view": "week"}
    page = browser.post(f"/reminders/{schedule.id}/move/", typed | {which: ""}, follow=True).content.decode()
    moved = Schedule.objects.exclude(id=schedule.id).get() if which == "one" else schedule
    notice = page.partition('class="message success"')[2].partition("</form>")[0]
    assert f"/reminders/{moved.id}/move/undo/" in notice
    assert "is back on Wed 3 Jun, 09:00." in undone(browser, moved, notice)
    assert seen(browser, "/reminders/week/?date=2026-06-01") == before
    schedule.refresh_from_db()
    assert schedule.rule == {"time": "09:00", "days": [2, 3]}


def test_a_move_to_the_same_time_offers_no_undo_of_an_earlier_edit(noon: None, browser: Client, ada: User) -> None:
    schedule = once(ada, "2026-06-03T10:00")
    schedule.rule = {"at": "2026-06-04T10:00:00"}
    editing.reschedule(schedule, NOON)
    page = browser.post(f"/reminders/{schedule.id}/move/", {"date": "2026-06-04", "version": 2}, follow=True)
    notice = page.content.decode().partition('class="message success"')[2].partition("</form>")[0]
    assert "is moved to" in notice and "<button" not in notice


def test_a_move_out_of_the_page_leads_to_its_day(noon: None, browser: Client, ada: User) -> None:
    schedule = once(ada, "2026-06-03T10:00")
    typed = {"date": "2026-07-20", "version": 1, "view": "month", "on": "2026-06-01"}
    assert "date=2026-07-20" in browser.post(f"/reminders/{schedule.id}/move/", typed)["Location"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"date": "2026-05-20"}, "has passed"),
        ({"date": "soon"}, "Choose a day"),
        ({"date": ""}, "Choose a day"),
        ({"version": "x"}, "Reload"),
        ({"version": "7"}, "has changed since you opened this page"),
        ({"view": "x", "on": "x", "date": "2026-05-20"}, "has passed"),
    ],
)
def test_a_move_that_is_refused_says_why_and_changes_nothing(
    noon: None, browser: Client, ada: User, typed: dict[str, str], said: str
) -> None:
    schedule = once(ada, "2026-06-03T10:00")
    posted = {"date": "2026-06-05", "version": "1", "view": "week", "on": "2026-06-01"} | typed
    answer = browser.post(f"/reminders/{schedule.id}/move/", posted, follow=True)
    assert said in answer.content.decode()
    schedule.refresh_from_db()
    assert (schedule.version, schedule.rule) == (1, {"at": "2026-06-03T10:00"})


def test_of_what_repeats_one_time_is_moved_once_however_often_it_is_sent(
    noon: None, browser: Client, ada: User
) -> None:
    schedule = make_schedule(ada, kind="daily", rule={"time": "09:00"}, time_zone="Europe/Berlin")
    typed = {"date": "2026-06-04", "time": "16:00", "slot": "2026-06-03T07:00:00Z", "version": 1, "view": "week"}
    answer = browser.post(f"/reminders/{schedule.id}/move/", typed | {"one": ""}, follow=True)
    assert "is moved to Thursday 4 June, 16:00" in answer.content.decode()
    again = browser.post(f"/reminders/{schedule.id}/move/", typed | {"one": ""}, follow=True).content.decode()
    assert "has changed since you opened this page" in again
    assert Schedule.objects.count() == 2
    shown = {(row.clock.day, row.clock.hour): row.state for row in rows(browser, "/reminders/week/")}
    assert (shown[3, 9], shown[4, 9], shown[4, 16]) == ("skipped", "", "")


def test_at_the_limit_of_reminders_all_times_are_moved_and_one_is_not(
    noon: None, browser: Client, ada: User, settings: Settings
) -> None:
    settings.MOST_SCHEDULES = 1
    schedule = make_schedule(ada, kind="daily", rule={"time": "09:00"}, time_zone="Europe/Berlin")
    typed = {"date": "2026-06-03", "time": "16:00", "slot": "2026-06-03T07:00:00Z", "version": 1, "view": "week"}
    for which, said in (("one", "as many as one person may have"), ("all", "is moved to")):
        page = browser.post(f"/reminders/{schedule.id}/move/", typed | {which: ""}, follow=True).content.decode()
        assert said in page
    schedule.refresh_from_db()
    assert (schedule.rule, Schedule.objects.count()) == ({"time": "16:00"}, 1)


def test_reminders_that_do_not_fit_are_named_with_their_days(
    noon: None, browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedules.agenda.coming.MOST", 1)
    for day in range(2, 9):
        once(ada, f"2026-06-{day:02}T10:00", title=f"On {day}", channels=[])
    page = browser.get("/reminders/month/").content.decode()
    assert re.search(r'/reminders/day/\?date=2026-06-03">On 3</a>', page) and "On 8" not in page
    assert "and 5 more" in page


def test_nobody_learns_of_anothers_reminder_by_its_id(noon: None, browser: Client) -> None:
    other = once(make_user(), "2026-06-03T10:00", title="Not mine")
    assert "Not mine" not in browser.get(f"/reminders/week/?moved={other.id}&from=2026-06-02").content.decode()


@pytest.mark.parametrize("query", ["?moved=x", "?moved=&from=x", "?moved=0&from=2026-06-02"])
def test_nonsense_in_the_address_does_no_harm(noon: None, browser: Client, query: str) -> None:
    assert browser.get(f"/reminders/month/{query}").status_code == 200


def test_the_notice_is_gone_with_its_reminder(noon: None, browser: Client, ada: User) -> None:
    schedule = once(ada, "2026-06-03T10:00")
    editing.delete(schedule.id, NOON)
    assert "is moved" not in browser.get(f"/reminders/week/?moved={schedule.id}").content.decode()
    assert not Notification.objects.exists()
