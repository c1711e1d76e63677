"""The browser refuses nothing on any page of the admin, and its face works: the fixture `page` counts complaints."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from demo.person import Person
from demo.stage import Stage, wait_until

pytestmark = pytest.mark.browser

_PASSWORD = "a long enough passphrase"


@pytest.fixture(scope="module")
def filled(stage: Stage) -> Stage:
    """With a row of each kind."""
    with closing(Person(stage.url, "Ada", "ada@example.org", _PASSWORD, "Europe/Berlin")) as ada:
        ada.remind("Water the plants", datetime.now(UTC) + timedelta(seconds=3))
    wait_until(lambda: stage.rows("SELECT id FROM schedules_occurrence"), "the firing", within=20)
    wait_until(lambda: not stage.rows("SELECT id FROM notifications_delivery WHERE settled_at IS NULL"), "the end", 20)
    return stage


def links(page: Page, within: str) -> list[str]:
    found = page.locator(f"{within} a[href]").evaluate_all("links => links.map(link => link.href)")
    return list(dict.fromkeys(url for url in found if urlsplit(url).path.startswith("/admin/")))


@pytest.mark.parametrize("page", [1280], indirect=True)
def test_the_admin_works_under_its_policy(page: Page, filled: Stage) -> None:
    assert page.viewport_size is not None
    stage = filled
    email = f"operator{page.viewport_size['width']}@example.org"
    stage.manage("createsuperuser", "--noinput", "--email", email, DJANGO_SUPERUSER_PASSWORD=_PASSWORD)
    page.goto(f"{stage.url}/admin/")
    page.get_by_label(re.compile("e-?mail", re.I)).fill(email)
    page.get_by_label("Password").fill(_PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("You signed in with your password alone.")).to_be_visible()

    places = [*links(page, "#main"), f"{stage.url}/admin/people/user/add/", f"{stage.url}/admin/auth/group/add/"]
    assert len(places) > 12
    rows: list[str] = []
    for place in places:
        page.goto(place)
        expect(page.locator("html")).not_to_have_attribute("x-cloak", "")  # Alpine has run
        rows += links(page, "#result_list tbody tr:first-child th")[:1]
    assert len(rows) > 7
    for row in rows:
        page.goto(row)
        expect(page.locator("html")).not_to_have_attribute("x-cloak", "")

    # The colours are there, and a menu that Alpine drives opens.
    page.goto(f"{stage.url}/admin/people/user/")
    colour = "getComputedStyle(document.documentElement).getPropertyValue('--color-primary-600').trim()"
    assert page.evaluate(colour)
    assert page.evaluate("document.querySelectorAll('style').length") == 0
