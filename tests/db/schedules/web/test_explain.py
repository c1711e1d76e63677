"""The page of a reminder and the one that explains it, and what a person does with the next firing."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape
from urllib.parse import quote

import pytest
from django.test import Client

from notifications.models import Delivery
from people.models import User
from schedules.changes import editing
from schedules.explain import history
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import edit_schedule, make_channel, make_schedule, make_user

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ODD = "2026-06-01T09:00:00+01:00:30.5"


@pytest.fixture
def now() -> datetime:
    return fire.read_clock().now.replace(microsecond=0)


def hourly(user: User, now: datetime) -> Schedule:
    """A reminder whose next firing is an hour from now."""
    rule = {"every": 1, "unit": "hours", "anchor": (now + HOUR).isoformat()}
    return make_schedule(user, [make_channel(user)], now=now, kind="interval", rule=rule, title="Stretch")


def act(browser: Client, schedule: Schedule, verb: str, **typed: str) -> str:
    """What the page says after the button."""
    answer = browser.post(f"/reminders/{schedule.id}/{verb}/", typed, follow=True)
    schedule.refresh_from_db()
    return unescape(answer.content.decode())


def test_skipping_the_next_one_skips_that_one_alone(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    page = act(browser, schedule, "skip", slot=(now + HOUR).isoformat())
    assert "Skipped: " in page
    assert schedule.next_fire_at == now + 2 * HOUR
    assert "Skipped by Ada." in page


def test_a_skip_can_be_undone_where_it_is_shown(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    page = act(browser, schedule, "skip", slot=(now + HOUR).isoformat())
    assert f'action="/reminders/{schedule.id}/unskip/"' in page
    page = act(browser, schedule, "unskip", slot=(now + HOUR).isoformat())
    assert "It will be sent on " in page
    assert schedule.next_fire_at == now + HOUR
    assert "unskip" not in page


@pytest.mark.parametrize("slot", ["", "soon", "2026-01-01T09:00:00+00:00", "2999-01-01T09:00:00", "9999-99-99", ODD])
def test_a_slot_that_was_not_skipped_is_not_undone(browser: Client, ada: User, now: datetime, slot: str) -> None:
    schedule = hourly(ada, now)
    assert "Nothing was done: “Stretch” has changed" in act(browser, schedule, "unskip", slot=slot)


def test_run_now_pressed_twice_on_one_page_runs_once(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    page = browser.get(f"/reminders/{schedule.id}/").content.decode()
    [press] = re.findall(r'name="run_as" value="([^"]+)"', page)
    for _ in range(2):
        assert "is on its way" in act(browser, schedule, "run", run_as=press)
    assert Delivery.objects.count() == 1
    assert press not in browser.get(f"/reminders/{schedule.id}/").content.decode()


@pytest.mark.parametrize("press", ["x", "5f0c7e5e-8a5b-4b5e-9c5e-1f6f8f3e2d1c", "0190a000-0000-7000-8000-000000000000"])
def test_run_now_with_an_id_that_no_page_gave_lately_sends_nothing(
    browser: Client, ada: User, now: datetime, press: str
) -> None:
    assert "Nothing was sent" in act(browser, hourly(ada, now), "run", run_as=press)
    assert not Delivery.objects.exists()


def test_a_press_with_the_id_of_somebody_elses_run_changes_nothing_of_theirs(
    browser: Client, ada: User, now: datetime
) -> None:
    theirs = hourly(make_user(), now)
    editing.run_now(theirs.id, now)
    act(browser, hourly(ada, now), "run", run_as=str(theirs.occurrences.get().id))
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("slot", ["", "soon", "2026-01-01T09:00:00+00:00", "2026-01-01T09:00:00", "9999-99-99", ODD])
def test_a_slot_that_is_not_the_next_one_is_not_skipped(browser: Client, ada: User, now: datetime, slot: str) -> None:
    schedule = hourly(ada, now)
    assert "Nothing was done: “Stretch” has changed" in act(browser, schedule, "skip", slot=slot)
    assert schedule.next_fire_at == now + HOUR


def test_running_now_leaves_the_timetable_as_it_is(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    page = act(browser, schedule, "run")
    assert "“Stretch” is on its way." in page
    assert "Run outside of the timetable by Ada." in page
    assert (schedule.next_fire_at, Delivery.objects.count()) == (now + HOUR, 1)


def test_running_without_a_channel_says_so(browser: Client, ada: User, now: datetime) -> None:
    schedule = make_schedule(ada, [], now=now)
    assert "has no channel" in act(browser, schedule, "run")


def test_a_snooze_is_shown_and_can_be_ended(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    until = (now + 2 * DAY).astimezone().replace(tzinfo=None, microsecond=0)
    page = act(browser, schedule, "snooze", until=f"{until:%Y-%m-%dT%H:%M}")
    assert "“Stretch” is snoozed until " in page
    assert schedule.next_fire_at is not None
    assert schedule.next_fire_at > now + DAY
    assert "End snooze" in page
    page = act(browser, schedule, "resume")
    assert "“Stretch” is no longer snoozed." in page
    assert "End snooze" not in page
    assert schedule.next_fire_at == now + HOUR


@pytest.mark.parametrize(
    ("until", "said"),
    [
        ("", "Choose a date and a time"),
        ("tomorrow", "“tomorrow” is not a date and time."),
        ("2020-01-01T09:00", "This time has passed."),
        ("2026-02-30T09:00", "is not a date and time"),
        ("10000-01-01T09:00", "is not a date and time"),
        ("9998-12-31T09:00", "within a hundred years"),
        ("9999-12-31T23:59", "within a hundred years"),
    ],
)
def test_a_snooze_that_cannot_be_is_refused_in_words(
    browser: Client, ada: User, now: datetime, until: str, said: str
) -> None:
    schedule = hourly(ada, now)
    assert said in act(browser, schedule, "snooze", until=until)
    assert schedule.snoozed_until is None


def test_a_paused_reminder_is_not_snoozed(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    editing.pause(schedule.id, now)
    assert "Nothing was done" in act(browser, schedule, "snooze", until=f"{now + DAY:%Y-%m-%dT%H:%M}")


def test_a_copy_is_paused_and_opened_for_editing(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now)
    assert "This is the copy. It is paused" in act(browser, schedule, "duplicate")
    copy = Schedule.objects.exclude(id=schedule.id).get()
    assert (copy.state, copy.title, copy.user) == ("paused", "Stretch (copy)", ada)


def test_who_pauses_is_remembered(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now - 3 * HOUR)
    act(browser, schedule, "pause")
    act(browser, schedule, "resume")
    assert [event.by for event in schedule.events.filter(what__in=["paused", "resumed"])] == [ada, ada]


def test_the_past_is_told_in_pages(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now - 130 * HOUR)
    editing.pause(schedule.id, now - 130 * HOUR + timedelta(minutes=1), ada)
    first = browser.get(f"/reminders/{schedule.id}/explain/")
    assert len(first.context["past"]) == history.PAGE
    assert "Paused since" in first.content.decode()
    older = first.context["older"]
    second = browser.get(f"/reminders/{schedule.id}/explain/?before={quote(older.isoformat())}")
    slots = [item["story"].slot for page in (first, second) for item in page.context["past"]]
    assert slots == [now - n * HOUR for n in range(130)]
    assert second.context["older"] is None


@pytest.mark.parametrize("before", ["", "x", "2026-01-01", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-12:00"])
def test_a_bad_link_shows_the_newest(browser: Client, ada: User, now: datetime, before: str) -> None:
    schedule = hourly(ada, now)
    assert browser.get(f"/reminders/{schedule.id}/explain/?before={quote(before)}").context["before"] is None


def test_a_fired_slot_leads_to_its_notification_with_its_deliveries(browser: Client, ada: User, now: datetime) -> None:
    schedule = hourly(ada, now - HOUR)
    fire.fire_due(now)
    page = browser.get(f"/reminders/{schedule.id}/explain/").content.decode()
    assert f"/history/{Delivery.objects.get().notification_id}/" in page
    assert 'class="state pending"' in page


def test_what_was_done_to_it_is_listed_with_the_rule_that_an_edit_replaced(
    browser: Client, ada: User, now: datetime
) -> None:
    schedule = make_schedule(ada, now=now)
    edit_schedule(schedule, now, rule={"time": "18:00"}, version=1, by=ada)
    editing.snooze(schedule.id, now + 3 * DAY, now, ada)
    page = browser.get(f"/reminders/{schedule.id}/explain/").content.decode()
    done = page.partition('id="changes"')[2]
    assert "edited by Ada" in done
    assert "Before: Every day at 09:00, UTC." in done
    assert re.search(r"snoozed by Ada until <time ", done)
    assert "created by Ada" in done
