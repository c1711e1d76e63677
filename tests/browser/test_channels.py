"""A person adds, confirms and tries a channel of each kind in a real browser, on a narrow screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo import codes
from demo.services import Service
from demo.stage import Stage, wait_until
from tests.browser.conftest import fits

pytestmark = pytest.mark.browser


def sign_up(page: Page, stage: Stage, email: str) -> None:
    page.goto(f"{stage.url}/account/signup/")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label(re.compile("e-?mail", re.I)).fill(email)
    page.get_by_label("Password").fill("a long enough passphrase")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page).to_have_url(re.compile("/reminders/$"))


@pytest.mark.parametrize("page", [360], indirect=True, ids=["360px"])
def test_a_channel_of_each_kind(page: Page, stage: Stage, others: list[Service]) -> None:
    sign_up(page, stage, "channels@example.org")
    for service in others:
        page.goto(f"{stage.url}/channels/new/")
        page.get_by_role("main").locator(f'a[href$="/{service.kind}/"]').click()
        for name, value in service.typed.items():
            page.locator(f'[name="{name}"]').fill(value)
        page.get_by_label("Name", exact=False).last.fill(service.label)
        fits(page)
        page.get_by_role("main").get_by_role("button", name="Add").click()
        expect(page.get_by_role("status")).to_contain_text("A code is on its way")
        receiver = service.receiver
        page.get_by_label("Code").fill(wait_until(lambda there=receiver: codes.in_posts(there), "the code", within=20))
        fits(page)
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("status")).to_contain_text("is ready")
        page.get_by_role("button", name=f"Send a test to {service.label}").click()
        expect(page.get_by_text("Test:").last).to_contain_text("Accepted", timeout=20_000)
        assert len(service.noted("Carillon rings")) == 1
    fits(page)


@pytest.mark.parametrize("page", [360], indirect=True, ids=["360px"])
def test_what_is_wrong_with_an_address_stands_at_its_field_with_what_was_typed_beside_it(
    page: Page, stage: Stage
) -> None:
    sign_up(page, stage, "fields@example.org")
    for kind, field, typed, said in [
        ("telegram", "token", "123456:a token with spaces", "A bot token is a number, a colon"),
        ("discord", "url", "https://example.org/api/webhooks/1/x", "not the URL of a Discord webhook"),
        ("webhook", "url", "http://10.0.0.1/", "inside a private network"),
    ]:
        page.goto(f"{stage.url}/channels/new/{kind}/")
        page.locator(f'[name="{field}"]').fill(typed)
        page.get_by_label("Name", exact=False).last.fill("Mine")
        page.get_by_role("main").get_by_role("button", name="Add").click()
        expect(page.locator(f"#id_{field}_error")).to_contain_text(said)
        expect(page.locator(f'[name="{field}"]')).to_be_focused()
        expect(page.get_by_label("Name", exact=False).last).to_have_value("Mine")
        fits(page)
    assert stage.rows("SELECT 1 FROM notifications_channel c WHERE provider <> 'inbox' AND label = 'Mine'") == []
