"""The next five firings, as one types."""

from __future__ import annotations

from datetime import time
from time import process_time
from typing import Any

import pytest
from django.test import Client

from people.models import User
from schedules.rules import Work
from tests.make import make_channel, make_schedule


def preview(browser: Client, **fields: Any) -> str:
    return browser.post("/reminders/preview/", {"time_zone": "Europe/Berlin"} | fields).content.decode()


def test_the_next_five_firings_are_shown_with_the_rule_in_words(browser: Client) -> None:
    shown = preview(browser, kind="weekly", time="09:00", days=["0", "1", "2", "3", "4"])
    assert "Every weekday at 09:00, Berlin time" in shown
    assert shown.count("<li><time ") == 5


def test_a_maximum_cuts_the_list_short(browser: Client) -> None:
    assert preview(browser, kind="daily", time="09:00", max_count="2").count("<li><time ") == 2


def test_a_firing_that_a_clock_change_moves_has_a_note(browser: Client) -> None:
    shown = preview(browser, kind="once", at="2027-03-28T02:30")
    assert "02:30 does not exist on 28 March 2027 in Berlin: rings at 03:00" in shown


def test_an_error_stands_at_its_field(browser: Client) -> None:
    shown = preview(browser, kind="cron", expression="61 * * * *")
    assert 'id="error-expression" hx-swap-oob="true"><p id="id_expression_error">' in shown
    assert "<time " not in shown


def test_a_field_not_filled_in_yet_is_no_error(browser: Client) -> None:
    shown = preview(browser, kind="once", at="")
    assert "Choose a date and a time." in shown
    assert 'id="error-at"' not in shown


def test_a_preview_costs_little_whatever_is_typed(browser: Client, ada: User) -> None:
    every = f"BYHOUR={','.join(map(str, range(24)))};BYMINUTE={','.join(map(str, range(60)))}"
    positions = ",".join(map(str, [*range(-366, 0), *range(1, 367)]))
    edited = make_schedule(ada)
    for rule in (
        f"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{every};BYSETPOS=1;COUNT=10000",
        f"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{every};BYSETPOS={positions}",
        "FREQ=MINUTELY;INTERVAL=2;BYHOUR=3;BYMINUTE=1",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SU",
    ):
        typed = {"kind": "rrule", "rule": f"DTSTART:20260105T090000\nRRULE:{rule}", "time_zone": "Europe/Berlin"}
        began = process_time()
        assert browser.post(f"/reminders/preview/?of={edited.id}", typed).status_code == 200
        # Two budgets of work are some 80 ms, which a slow machine makes longer; it was up to 50 s.
        assert process_time() - began < 5


def test_a_preview_whose_slots_cost_too_much_says_so_at_the_rule(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Work.__init__, "__defaults__", (200,))
    typed = {"kind": "rrule", "rule": "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;BYMONTH=2", "title": "Water"}
    assert preview(browser, **typed).count("<li><time ") == 5
    edited = make_schedule(ada, kind="daily", rule={"time": "09:00"})
    shown = browser.post(f"/reminders/preview/?of={edited.id}", {"time_zone": "Europe/Berlin"} | typed)
    assert list(shown.context["form"].errors) == ["rule"]
    assert "<time " not in shown.content.decode()


def test_a_field_that_was_mended_loses_its_error(browser: Client) -> None:
    shown = preview(browser, kind="cron", expression="0 9 * * *")
    assert 'id="error-expression" hx-swap-oob="true"></div>' in shown


def test_quiet_hours_show_beforehand_unless_it_is_urgent(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(quiet_from=time(22), quiet_until=time(7), time_zone="Europe/Berlin")
    channel = make_channel(ada, "email")
    typed = {"kind": "daily", "time": "00:55", "channels": [str(channel.id)]}
    shown = preview(browser, **typed)
    assert shown.count("Held until 07:00") == 5
    assert shown.count("make it urgent to ring at 00:55") == 1
    assert "Held until" not in preview(browser, **typed, urgent="on")
    assert "Held until" not in preview(browser, **typed | {"time": "07:00"})
