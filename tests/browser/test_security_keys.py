"""Security keys in a real browser, with Chromium's virtual authenticator."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible, fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

PASSWORD = "a long enough passphrase"  # of `sign_up`


def sign_in(page: Page, url: str, email: str) -> None:
    page.goto(f"{url}/account/login/")
    page.get_by_label(re.compile("e-?mail", re.I)).fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_a_key_is_added_signs_in_and_once_removed_does_not(page: Page, site: Installation) -> None:
    url, email = f"http://localhost:{site.port}", "touch@example.org"  # browsers take no keys at an IP address
    chromium = page.context.new_cdp_session(page)
    chromium.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "usb", "automaticPresenceSimulation": True}
    plugged = chromium.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]
    sign_up(page, site, email)
    page.goto(f"{site.url}/account/second-factor/")
    page.get_by_role("link", name="Add a security key").click()  # asks for no password yet
    expect(page.get_by_role("main")).to_contain_text("Confirm your email address first.")
    site.rows("UPDATE account_emailaddress SET verified = true WHERE email = %s RETURNING id", email)
    sign_in(page, url, email)
    expect(page).to_have_url(re.compile("/reminders/$"))

    page.goto(f"{url}/account/second-factor/")
    fits(page)
    page.get_by_role("link", name="Add a security key").click()
    page.get_by_label("Name").fill("Blue key")
    accessible(page)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.goto(f"{url}/account/second-factor/webauthn/add/")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert").get_by_text("already among yours")).to_be_visible()

    page.context.clear_cookies()
    sign_in(page, url, email)
    expect(page.get_by_role("heading", name="Use your security key")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Use the key").click()
    expect(page).to_have_url(re.compile("/reminders/$"))

    page.goto(f"{url}/account/second-factor/")
    page.get_by_role("link", name="Remove Blue key").click()
    page.get_by_role("main").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("The security key is removed.")).to_be_visible()
    page.context.clear_cookies()
    sign_in(page, url, email)
    expect(page).to_have_url(re.compile("/reminders/$"))
    assert chromium.send("WebAuthn.getCredentials", {"authenticatorId": plugged})["credentials"]
    chromium.detach()
