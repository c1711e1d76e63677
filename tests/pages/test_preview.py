"""The next five firings, as one types."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def preview(browser: Client, **fields: Any) -> str:
    return browser.post("/reminders/preview/", {"time_zone": "Europe/Berlin"} | fields).content.decode()


def test_the_next_five_firings_are_shown_with_the_rule_in_words(browser: Client) -> None:
    shown = preview(browser, kind="weekly", time="09:00", days=["0", "1", "2", "3", "4"])
    assert "Every weekday at 09:00, Berlin time" in shown
    assert shown.count("<time ") == 5


def test_a_maximum_cuts_the_list_short(browser: Client) -> None:
    assert preview(browser, kind="daily", time="09:00", max_count="2").count("<time ") == 2


def test_a_firing_that_a_clock_change_moves_has_a_note(browser: Client) -> None:
    shown = preview(browser, kind="once", at="2027-03-28T02:30")
    assert "02:30 does not exist on 2027-03-28 in Berlin: fires at 03:00" in shown


def test_an_error_stands_at_its_field(browser: Client) -> None:
    shown = preview(browser, kind="cron", expression="61 * * * *")
    assert 'id="error-expression" hx-swap-oob="true"><p id="id_expression_error">' in shown
    assert "<time " not in shown


def test_a_field_not_filled_in_yet_is_no_error(browser: Client) -> None:
    shown = preview(browser, kind="once", at="")
    assert "Choose a date and a time." in shown
    assert 'id="error-at"' not in shown


def test_a_field_that_was_mended_loses_its_error(browser: Client) -> None:
    shown = preview(browser, kind="cron", expression="0 9 * * *")
    assert 'id="error-expression" hx-swap-oob="true"></div>' in shown
