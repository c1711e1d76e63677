"""A browser that asks for German sees German; an account chooses another language for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.installation import Installation
from tests.browser.axe import WIDTHS
from tests.browser.conftest import fits, opened
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_no_word_of_the_navigation_and_of_buttons_is_broken_or_off_the_screen(
    page: Page, site: Installation, language: str
) -> None:
    """Also with the numbers of unread messages and of reminders that need attention, for staff."""
    sign_up(page, site, f"words-{language}@example.org")
    page.goto(f"{site.url}/reminders/")
    page.get_by_label("Quick add").get_by_role("textbox").fill("water the plants every day 9:00")
    page.keyboard.press("Enter")
    expect(page.locator("#reminders .row")).to_have_count(1)
    set_language = "UPDATE people_user SET language = %s, is_staff = true WHERE email = %s RETURNING id"
    [person] = site.rows(set_language, language, f"words-{language}@example.org")
    disable = (
        "UPDATE notifications_channel SET disabled_at = now(), disabled_code = 'note' WHERE user_id = %s RETURNING id"
    )
    site.rows(disable, person["id"])
    page.goto(f"{site.url}/reminders/")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        # At once, for what the server says next hides the number.
        assert page.evaluate(f"showUnread(4) ?? ({_BROKEN})()") == [], width


# The words of links and buttons that are in more than one line, or beyond an edge.
_BROKEN = """() => [...document.querySelectorAll(".top :is(a, button), .row :is(a, button)")].flatMap((one) => {
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), words = [];
  while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/\\S+/g)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + word.length);
    const parts = [...range.getClientRects()];
    const hidden = texts.currentNode.parentElement.matches(".sr, [hidden] *, .own span");
    const isOff = parts.some(({ left, right }) => left < 0 || right > innerWidth);
    if (!hidden && (isOff || parts.length > 1)) words.push(word);
  }
  return words;
})"""


@pytest.fixture
def german(browser: Browser) -> Iterator[Page]:
    with opened(browser, 360, locale="de-DE") as page:
        yield page


def test_the_browser_chooses_until_the_account_does(german: Page, site: Installation) -> None:
    html, page = german.locator("html"), german
    page.goto(f"{site.url}/account/signup/")
    expect(html).to_have_attribute("lang", "de")
    page.locator("[name=email]").fill("deutsch@example.org")
    page.locator("[name=password1]").fill("a long enough passphrase")
    page.locator("main button.primary").click()
    expect(page.locator("nav").first).to_be_visible()
    expect(html).to_have_attribute("lang", "de")
    # Weeks that come are named as the reader names their days.
    page.goto(f"{site.url}/reminders/new/")
    page.locator("[name=title]").fill("Blumen gießen")
    page.locator("[name=repeat][value=daily], [name=kind][value=daily]").first.check()
    page.locator("main button.primary").last.click()
    expect(page.locator("main time").first).to_contain_text(". ")
    page.evaluate("showUnread(4)")
    fits(page)

    page.goto(f"{site.url}/settings/")
    page.locator("[name=language]").select_option("es")
    page.locator("main form button.primary").first.click()
    expect(html).to_have_attribute("lang", "es")
    page.context.clear_cookies()
    page.goto(f"{site.url}/account/login/")
    expect(html).to_have_attribute("lang", "de")
