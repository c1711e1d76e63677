"""Ten tasks of daily use in as many clicks and keys as docs/daily-use.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.installation import Installation
from tests.browser.hands import drag
from tests.browser.test_agenda import TENTH, TWELFTH, hour
from tests.browser.test_browser import in_berlin
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

ROW = re.compile(r"^\| ([^|]+?) \| (\d+) \|", re.MULTILINE)
PUBLISHED = {name: int(steps) for name, steps in ROW.findall(Path("docs/daily-use.md").read_text())}


class Hand:
    """Counts clicks, keys and drags; typed words count as none, since they are the same everywhere."""

    def __init__(self, page: Page) -> None:
        self.page, self.steps = page, 0
        self.done: dict[str, int] = {}

    def click(self, target: Locator) -> None:
        self.steps += 1
        target.click()

    def press(self, key: str) -> None:
        self.steps += 1
        self.page.wait_for_load_state()  # a page shows its notice before its scripts have run
        self.page.keyboard.press(key)

    def drag(self, what: Locator, to: Locator) -> None:
        self.steps += 1
        drag(what, to)

    def type(self, words: str) -> None:
        self.page.keyboard.type(words)

    def ends(self, task: str) -> None:
        self.done[task], self.steps = self.steps, 0


@pytest.fixture
def hand(page: Page, site: Installation) -> Iterator[Hand]:
    sign_up(page, site, "daily@example.org")
    page.goto(f"{site.url}/reminders/")
    yield Hand(page)


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_ten_tasks_take_as_many_steps_as_published(hand: Hand, site: Installation) -> None:
    page, said = hand.page, hand.page.get_by_role("status").first
    add(hand, f"dentist {TENTH} 9:00", "Add a reminder", "dentist")
    add(hand, "water the plants every tuesday at 18:00", "Add a weekly one", "water the plants")

    open_message(page, site)
    hand.press("j")
    hand.press("s")
    hand.press("Enter")
    expect(said).to_contain_text("is snoozed until")
    hand.ends("Snooze from the message")

    open_message(page, site)
    hand.press("j")
    hand.press("d")
    expect(said).to_contain_text("is done")
    hand.ends("Mark it as done")
    hand.press("z")
    expect(said).to_contain_text("is open again")
    hand.ends("Undo that")

    hand.press("Control+k")
    hand.type("dent")
    hand.press("Enter")
    expect(page).to_have_title(re.compile("dentist"))
    hand.ends("Find a reminder")

    page.goto(f"{site.url}/reminders/week/?date={TENTH}")
    hand.drag(hour(page, TENTH, 9).locator(".entry"), hour(page, TWELFTH, 11))
    expect(said).to_contain_text("11:00")
    hand.ends("Move it to another time")

    page.goto(f"{site.url}/reminders/")
    hand.click(page.get_by_role("link", name="Holidays"))
    today = in_berlin(timedelta()).date()
    page.get_by_label("Nothing from").fill(str(today + timedelta(days=1)))
    page.get_by_label("To and including").fill(str(today + timedelta(days=8)))
    hand.click(page.get_by_role("button", name="Save the holiday"))
    expect(page.get_by_role("heading", name="Planned")).to_be_visible()
    hand.ends("Pause all for a holiday")

    page.goto(f"{site.url}/reminders/")
    hand.click(page.locator("#reminders").get_by_role("link", name="water the plants", exact=True))
    hand.click(page.get_by_role("link", name=re.compile("Why did it")))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Why did it")
    hand.ends("See why it did not ring")

    site.rows(
        "UPDATE notifications_channel c SET disabled_at = now(), failing_since = now() FROM people_user u"
        " WHERE u.id = c.user_id AND u.email = 'daily@example.org' RETURNING c.id"
    )
    page.goto(f"{site.url}/reminders/")
    hand.click(page.locator(".fault").get_by_role("button", name="Enable"))
    expect(page.locator(".fault")).to_have_count(0)
    hand.ends("Repair a broken channel")
    assert hand.done == PUBLISHED


def add(hand: Hand, words: str, task: str, title: str) -> None:
    hand.press("n")
    hand.type(words)
    hand.press("Enter")
    expect(hand.page.get_by_role("status").first).to_contain_text(title)
    hand.ends(task)


def open_message(page: Page, site: Installation) -> None:
    page.goto(f"{site.url}/reminders/")
    page.locator("#reminders").get_by_role("link", name="water the plants", exact=True).click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status").first).to_contain_text("is on its way")
    page.goto(f"{site.url}/inbox/")
    expect(page.locator("#inbox .row").first).to_contain_text("water the plants")
