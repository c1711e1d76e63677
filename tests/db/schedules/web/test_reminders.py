"""The list of reminders, one in full, and its buttons."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from people.models import User
from schedules.firing import fire
from schedules.models import Schedule
from tests.make import NOON, make_channel, make_schedule, make_user


def titles(browser: Client, query: str = "") -> list[str]:
    return [schedule.title for schedule in browser.get(f"/reminders/{query}").context["page"]]


def test_an_empty_list_invites_to_make_the_first(browser: Client) -> None:
    assert "Create your first reminder" in browser.get("/reminders/").content.decode()


def test_the_next_to_fire_stands_first_and_only_ones_own_are_shown(browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    make_schedule(ada, inbox, title="Late", rule={"time": "23:00"})
    make_schedule(ada, inbox, title="Paused", state="paused", next_fire_at=None)
    make_schedule(ada, inbox, title="Soon", rule={"time": "13:00"})
    make_schedule(make_user(), title="Not mine")
    assert titles(browser) == ["Soon", "Late", "Paused"]


def test_search_and_state_narrow_the_list(browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    make_schedule(ada, inbox, title="Plants", body="balcony")
    make_schedule(ada, inbox, title="Rent", state="paused", next_fire_at=None)
    assert titles(browser, "?q=BALC") == ["Plants"]
    assert titles(browser, "?state=paused") == ["Rent"]
    assert titles(browser, "?q=plants&state=paused") == []
    assert "Nothing found" in browser.get("/reminders/?q=zzz").content.decode()


@pytest.mark.parametrize("query", ["?page=99", "?page=x", "?state=odd", "?q=%00", "?deleted=x"])
def test_nonsense_in_the_address_does_no_harm(browser: Client, ada: User, query: str) -> None:
    make_schedule(ada)
    assert browser.get(f"/reminders/{query}").status_code == 200


def test_a_page_holds_25_and_links_to_the_next_one_keeping_the_search(browser: Client, ada: User) -> None:
    inbox = [make_channel(ada)]
    for number in range(26):
        make_schedule(ada, inbox, title=f"Plant {number}")
    answer = browser.get("/reminders/?q=plant")
    assert len(answer.context["page"]) == 25
    assert "?q=plant&amp;page=2" in answer.content.decode()
    assert len(titles(browser, "?q=plant&page=2")) == 1


def test_the_next_firing_is_shown_in_the_readers_zone(browser: Client, ada: User) -> None:
    make_schedule(ada, kind="once", rule={"at": "2999-07-01T12:00"})
    assert "Mon 1 Jul 2999, 14:00" in browser.get("/reminders/").content.decode()


def test_the_detail_page_tells_what_comes_and_what_was(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, [make_channel(ada), make_channel(ada, "email")])
    fire.fire_due(NOON + timedelta(days=1))
    answer = browser.get(f"/reminders/{schedule.id}/")
    assert len(answer.context["coming"]) == 5
    [past] = answer.context["past"]
    assert past["notification"].batch_id == past["story"].batch_id
    assert f"/history/{past['notification'].id}/" in answer.content.decode()


def test_a_skipped_slot_says_why(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, [])
    fire.fire_due(NOON + timedelta(days=1))
    assert "No channel to send to" in browser.get(f"/reminders/{schedule.id}/").content.decode()


def test_pause_and_resume(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    assert browser.post(f"/reminders/{schedule.id}/pause/", {"list": ""})["Location"] == "/reminders/"
    schedule.refresh_from_db()
    assert (schedule.state, schedule.next_fire_at) == ("paused", None)
    assert browser.post(f"/reminders/{schedule.id}/resume/")["Location"] == f"/reminders/{schedule.id}/"
    schedule.refresh_from_db()
    assert schedule.state == "active"


def test_a_deleted_reminder_comes_back_with_undo(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada)
    answer = browser.post(f"/reminders/{schedule.id}/delete/", follow=True)
    assert f'action="/reminders/{schedule.id}/restore/"' in answer.content.decode()
    assert titles(browser) == []
    browser.post(f"/reminders/{schedule.id}/restore/")
    assert titles(browser) == ["Water the plants"]


@pytest.mark.parametrize("verb", ["pause", "resume", "archive", "duplicate"])
def test_what_another_tab_deletes_at_this_moment_stays_deleted(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    schedule = make_schedule(ada, [make_channel(ada)])
    real = fire.read_clock

    def read_clock() -> fire.Clock:  # between the view's first read and its lock
        Schedule.objects.filter(id=schedule.id).update(deleted_at=NOON, next_fire_at=None)
        return real()

    monkeypatch.setattr(fire, "read_clock", read_clock)
    assert browser.post(f"/reminders/{schedule.id}/{verb}/")["Location"] == "/reminders/"
    stored = Schedule.objects.get()
    assert (stored.deleted_at, stored.state, stored.version) == (NOON, "active", schedule.version)


@pytest.mark.parametrize("verb", ["pause", "resume", "delete", "restore"])
def test_a_link_cannot_change_a_reminder(browser: Client, ada: User, verb: str) -> None:
    schedule = make_schedule(ada)
    assert browser.get(f"/reminders/{schedule.id}/{verb}/").status_code == 405
    assert Schedule.objects.get(id=schedule.id).version == 1


def test_what_a_person_typed_is_escaped(browser: Client, ada: User) -> None:
    schedule = make_schedule(ada, title="<script>ring()</script>", body="<b>x</b>")
    for path in ("/reminders/", f"/reminders/{schedule.id}/", f"/reminders/{schedule.id}/edit/"):
        assert "<script>ring()" not in browser.get(path).content.decode()
