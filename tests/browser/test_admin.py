"""The admin in a real browser: its board, and a second factor, set up with the keyboard alone on a narrow screen.

That the browser refuses nothing on any of its pages: test_accessibility.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation, wait_until
from demo.person import Person
from demo.receivers import HTTPReceiver, Reply
from tests.authenticator import code
from tests.browser.conftest import fits
from tests.browser.hands import Keyboard
from tests.browser.test_channels import confirms, sign_up

pytestmark = pytest.mark.browser

_DEAD = "SELECT id FROM notifications_delivery WHERE state = 'dead'"
_PASSWORD = "a long enough passphrase"


@pytest.fixture(scope="module")
def filled(processes: Installation) -> Installation:
    """With a row of each kind, among them a dead letter of a channel that was disabled."""
    with (
        HTTPReceiver(confirms(Reply(410))) as pager,
        closing(Person(processes.url, "Ada", "ada@example.org", _PASSWORD, "Europe/Berlin")) as ada,
    ):
        ada.add_webhook("Pager", f"{pager.url}/page")
        ready = "SELECT id FROM notifications_channel WHERE label = 'Pager' AND verified_at IS NOT NULL"
        wait_until(lambda: processes.rows(ready), "the code", within=180)
        ada.remind("Water the plants", datetime.now(UTC) + timedelta(seconds=2))
        wait_until(
            lambda: processes.rows("SELECT id FROM notifications_delivery WHERE state = 'dead'"), "the end", within=180
        )
    return processes


def enter(page: Page, site: Installation, email: str) -> None:
    """As an operator who is made for it, up to the admin."""
    sign_up(page, site, email)
    site.rows("UPDATE people_user SET is_staff = true, is_superuser = true WHERE email = %s RETURNING id", email)
    site.rows("UPDATE account_emailaddress SET verified = true WHERE email = %s RETURNING id", email)
    page.context.clear_cookies()
    page.goto(f"{site.url}/admin/")
    page.get_by_label(re.compile("e-?mail", re.I)).fill(email)
    page.get_by_label("Password").fill(_PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def links(page: Page, within: str) -> list[str]:
    found = page.locator(f"{within} a[href]").evaluate_all("links => links.map(link => link.href)")
    return list(dict.fromkeys(url for url in found if urlsplit(url).path.startswith("/admin/")))


@pytest.mark.parametrize("page", [1280], indirect=True)
def test_the_admin_works_under_its_policy(page: Page, filled: Installation) -> None:
    enter(page, filled, "operator@example.org")
    expect(page.get_by_text("You signed in with your password only.")).to_be_visible()

    def has_failed() -> bool:
        """The board counts again after 10 s, and somebody may have looked at it just before."""
        page.get_by_role("link", name="Refresh").click()
        return bool(re.search(r"Failed\s*[1-9]\d* in the last hour", page.locator(".board-figures").inner_text()))

    wait_until(has_failed, "the failure on the board", within=180)
    expect(page.get_by_role("row", name=re.compile("^Beat")).locator(".up")).to_be_visible()
    page.locator(".board-causes").get_by_role("link", name=re.compile("410")).click()
    expect(page.locator(".repair")).to_contain_text("disabled")
    page.get_by_role("button", name=re.compile(r"^Replay \d")).click()
    expect(page.get_by_role("button", name="Replay 1", exact=True)).to_be_visible()  # is asked first
    expect(page.locator(".repair")).to_contain_text("disabled")
    page.get_by_role("link", name="Back", exact=True).click()
    assert filled.rows(_DEAD)

    assert len(links(page, "#nav-sidebar")) > 12

    # The colours are there, although no page writes them.
    page.goto(f"{filled.url}/admin/people/user/")
    colour = "getComputedStyle(document.documentElement).getPropertyValue('--color-primary-600').trim()"
    assert page.evaluate(colour)
    assert page.evaluate("document.querySelectorAll('style').length") == 0


def test_a_second_factor_is_set_up_and_shown_with_the_keyboard_alone(page: Page, filled: Installation) -> None:
    hand, email = Keyboard(), "careful@example.org"
    enter(page, filled, email)
    hand.press(page, page.get_by_role("link", name="Set up a second factor"))
    hand.press(page, page.get_by_role("link", name="Set up", exact=True))
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    fits(page)
    secret = page.locator(".secret code").inner_text().replace(" ", "")
    hand.write(page, page.get_by_label("Code from the app"), code(secret))
    hand.press(page, page.get_by_role("button", name="Turn on"))
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    expect(page.locator(".recovery code")).to_have_count(10)
    fits(page)
    hand.press(page, page.get_by_role("link", name="Continue to the admin"))
    expect(page.get_by_text("You signed in with your password alone.")).to_have_count(0)

    page.context.clear_cookies()
    page.goto(f"{filled.url}/admin/")
    hand.write(page, page.get_by_label(re.compile("e-?mail", re.I)), email)
    hand.write(page, page.get_by_label("Password"), _PASSWORD)
    hand.press(page, page.get_by_role("main").get_by_role("button", name="Sign in"))
    hand.write(page, page.get_by_label("Code"), code(secret, 1))
    fits(page)
    hand.press(page, page.get_by_role("button", name="Sign in"))
    expect(page).to_have_url(f"{filled.url}/admin/")
