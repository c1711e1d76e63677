"""The theme switch and keyboard shortcuts in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible, fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

_GROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_theme_changes_at_once_and_is_kept_before_and_after_the_sign_in(page: Page, site: Installation) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{site.url}/account/signup/")
    light = page.evaluate(_GROUND)
    page.get_by_label(re.compile("e-?mail", re.I)).fill("typed@example.org")
    page.get_by_role("group", name="Theme").get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(_GROUND)
    assert dark != light
    expect(page.get_by_label(re.compile("e-?mail", re.I))).to_have_value("typed@example.org")  # not reloaded
    page.wait_for_load_state("networkidle")
    page.reload()
    assert page.evaluate(_GROUND) == dark
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    sign_up(page, site, "theme@example.org")
    page.goto(f"{site.url}/reminders/")
    assert page.evaluate(_GROUND) == dark
    page.goto(f"{site.url}/settings/")
    expect(page.get_by_label("Theme", exact=True).first).to_have_value("dark")
    accessible(page)
    page.get_by_label("Theme", exact=True).first.select_option("System")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your settings are saved.")).to_be_visible()
    assert page.evaluate(_GROUND) == light


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_keys_open_pages_and_work_lists_but_not_while_typing(page: Page, site: Installation) -> None:
    sign_up(page, site, "keys@example.org")
    for title in ("Ferns", "Palms"):
        page.goto(f"{site.url}/channels/")
        page.keyboard.press("n")
        expect(page).to_have_url(re.compile("/reminders/new/$"))
        page.get_by_label("Title").fill(f"{title} n?")  # typed, not obeyed
        page.get_by_role("main").get_by_role("button", name="Create").click()
        expect(page).to_have_url(re.compile(r"/reminders/[0-9a-f-]{36}/$"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    accessible(page)
    page.keyboard.press("n")
    expect(dialog).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        assert page.evaluate("!document.activeElement.closest('main, .top')")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    for second, path in (("i", "inbox"), ("h", "history"), ("c", "channels"), ("r", "reminders")):
        page.keyboard.press("g")
        page.keyboard.press(second)
        expect(page).to_have_url(re.compile(f"/{path}/$"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    first, chosen = (page.locator("main .rows > .row").nth(index).get_by_role("link").first for index in (0, 1))
    expect(chosen).to_be_focused()
    page.keyboard.press("k")
    expect(first).to_be_focused()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.get_by_role("searchbox")).to_have_value("")
    page.locator("main .rows > .row").first.get_by_role("link").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/reminders/[0-9a-f-]{36}/$"))
    page.keyboard.press("e")
    expect(page).to_have_url(re.compile("/edit/$"))


def test_shortcuts_are_turned_off_in_the_settings_and_their_list_stays(page: Page, site: Installation) -> None:
    sign_up(page, site, "nokeys@example.org")
    page.goto(f"{site.url}/reminders/")
    opener = page.get_by_role("button", name="Keyboard shortcuts")
    opener.click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(opener).to_be_focused()
    opener.click()
    fits(page)
    page.get_by_role("link", name="Turn off in the settings").click()
    page.get_by_role("checkbox", name=re.compile("Keyboard shortcuts")).uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your settings are saved.")).to_be_visible()
    page.keyboard.press("?")
    page.keyboard.press("n")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page).to_have_url(re.compile("/settings/"))
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_text("They are turned off.")).to_be_visible()
