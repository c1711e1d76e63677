"""From sign-up to a delivered reminder in a real browser, with the keyboard alone, on a narrow screen."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from demo import codes
from demo.installation import Installation, wait_until
from demo.receivers import SMTPReceiver
from tests.browser.axe import WIDTHS
from tests.browser.conftest import fits, opened, watched
from tests.browser.hands import Keyboard
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

_TITLE = "Water the plants in the conservatory"


def test_a_person_signs_up_and_gets_a_reminder(page: Page, site: Installation, post: SMTPReceiver) -> None:
    """The mouse presses the same buttons in test_first_run, test_channels and test_daily_use."""
    hand, email = Keyboard(), "keyboard@example.org"
    page.goto(site.url)
    fits(page)
    hand.press(page, page.get_by_role("main").get_by_role("link", name="Sign up"))
    hand.write(page, page.get_by_label("Your name"), "Ada")
    hand.write(page, page.get_by_label(re.compile("e-?mail", re.I)), email)
    hand.write(page, page.get_by_label("Password"), "a long enough passphrase")
    fits(page)
    hand.press(page, page.get_by_role("main").get_by_role("button", name="Sign up"))
    expect(page).to_have_url(re.compile("/reminders/$"))
    fits(page)

    hand.press(page, page.get_by_role("link", name="Channels"))
    hand.press(page, page.get_by_role("button", name=f"Add email to {email}"))
    expect(page.get_by_role("status")).to_contain_text("A code is on its way")
    fits(page)
    hand.write(page, page.get_by_label("Code"), wait_until(lambda: codes.in_mails(post, email), "the code", within=180))
    hand.press(page, page.get_by_role("button", name="Confirm", exact=True))
    expect(page.get_by_role("status")).to_contain_text("is ready")
    fits(page)

    hand.press(page, page.get_by_role("link", name="Reminders"))
    hand.press(page, page.get_by_role("main").get_by_role("link", name=re.compile("reminder", re.I)).first)
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    hand.write(page, page.get_by_label("Title"), _TITLE)
    # The browser's own date field is not ours to test: it is written at once, to the second.
    at = page.get_by_label("Date and time")
    slot = in_berlin(timedelta(hours=1))
    at.fill(slot.isoformat())
    expect(page.get_by_label("Next times")).to_contain_text(f"{slot:%H:%M}")
    fits(page)
    for ahead in (6, 30, 90):
        at.fill(in_berlin(timedelta(seconds=ahead)).isoformat())
        with page.expect_navigation():
            hand.press(page, page.get_by_role("button", name="Create reminder"))
        if not page.url.endswith("/reminders/new/"):
            break  # else a slow machine sent the form after the time that it names
    expect(page.get_by_role("status")).to_contain_text(f"“{_TITLE}” is created.")
    fits(page)

    said = (
        "SELECT d.state FROM notifications_delivery d JOIN notifications_notification n ON n.id = d.notification_id"
        " JOIN people_user p ON p.id = n.user_id WHERE p.email = %s AND n.origin = 'schedule'"
    )
    wait_until(lambda: [row["state"] for row in site.rows(said, email)] == ["delivered"] * 2, "delivery", within=120)
    assert [mail.message["Subject"] for mail in post.mails if mail.recipients == [email]].count(_TITLE) == 1

    for over in ("Pause", "Skip next"):
        expect(page.get_by_role("button", name=over)).to_have_count(0)
    hand.press(page, page.get_by_role("link", name=re.compile("^Inbox")))
    expect(page.get_by_role("link", name=re.compile("^Inbox"))).to_contain_text("1 unread")
    fits(page)
    hand.press(page, page.get_by_role("link", name=re.compile(_TITLE)))
    expect(page.get_by_role("heading", name=_TITLE)).to_be_visible()
    fits(page)

    hand.press(page, page.get_by_role("link", name="History"))
    expect(page.get_by_role("main").get_by_text("delivered", exact=True)).to_have_count(2)  # without the code
    fits(page)


# What a finger misses that presses 21 px above or below its middle.
_MISSED = """() => [...document.querySelectorAll(
  "main :is(button, .button, .quiet, select, summary, .tabs a, .crumb a, .segment, .move, .add), footer button")]
  .filter((one) => one.checkVisibility() && !one.matches(".sr, .slot")).flatMap((one) => {
    one.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = one.getBoundingClientRect();
    const found = [-21, 21].map((off) => document.elementFromPoint(x + width / 2, y + height / 2 + off));
    return found.every((there) => one.contains(there)) ? [] : [one.outerHTML.slice(0, 120)];
  })"""


def test_a_finger_meets_what_it_presses(browser: Browser, site: Installation) -> None:
    with opened(browser, 360, has_touch=True, is_mobile=True) as page, watched(page):
        sign_up(page, site, "finger@example.org")
        page.goto(f"{site.url}/reminders/")
        page.get_by_label("Quick add").get_by_role("textbox").fill("water the plants every day 9:00")
        page.keyboard.press("Enter")
        expect(page.locator("#reminders .row")).to_have_count(1)
        for path in ("/reminders/", "/reminders/week/", "/reminders/new/", "/channels/"):
            page.goto(site.url + path)
            assert page.evaluate(_MISSED) == [], path


def in_berlin(ahead: timedelta) -> datetime:
    """As the form has it: to the second, without a zone."""
    return (datetime.now(UTC) + ahead).astimezone(ZoneInfo("Europe/Berlin")).replace(microsecond=0, tzinfo=None)


def test_a_double_click_makes_one_reminder(page: Page, site: Installation) -> None:
    title = "Twice clicked"
    sign_up(page, site, "bea@example.org")
    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Daily").check()
    expect(page.get_by_label("Next times")).to_contain_text("09:00")
    page.get_by_role("button", name="Create reminder").dblclick(delay=20)
    expect(page.get_by_role("status")).to_contain_text("is created.")
    page.wait_for_timeout(1_000)  # what a second click has sent arrives
    assert len(site.rows("SELECT id FROM schedules_schedule WHERE title = %s", title)) == 1


def test_the_navigation_is_one_line_and_shows_each_entry_that_has_the_focus(page: Page, site: Installation) -> None:
    sign_up(page, site, "navigation@example.org")
    navigation = page.get_by_role("navigation", name="Main")
    entries = navigation.get_by_role("link")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{site.url}/history/")
        assert len({entry.bounding_box()["y"] for entry in entries.all()}) == 1  # type: ignore[index]
        expect(entries.filter(has_text="History")).to_be_in_viewport(ratio=0.9)
        for entry in entries.all():
            entry.focus()
            expect(entry).to_be_in_viewport(ratio=0.9)
        assert not navigation.evaluate("nav => nav.scrollWidth > nav.clientWidth")  # no entry is cut off at an edge
        # On a phone it is a bar at the bottom, which covers nothing at the end of the page.
        bar, theme = navigation.bounding_box(), page.get_by_role("group", name="Theme")
        assert bar is not None
        assert (bar["y"] > 400) == (width == 360)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        end = theme.bounding_box()
        assert end is not None
        assert width > 360 or end["y"] + end["height"] <= bar["y"]
    tabs = page.get_by_role("navigation", name="Automation").get_by_role("link")
    page.goto(f"{site.url}/counters/")
    assert len({entry.bounding_box()["y"] for entry in tabs.all()}) == 1  # type: ignore[index]
    expect(tabs.last).to_be_in_viewport(ratio=0.9)
    tabs.last.focus()
    for tab in reversed(tabs.all()[:-1]):
        page.keyboard.press("Shift+Tab")
        expect(tab).to_be_focused()
        expect(tab).to_be_in_viewport(ratio=0.9)
    fits(page)
