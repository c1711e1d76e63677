"""A person sees where they are signed in and what happened to their account, and signs out elsewhere."""

from __future__ import annotations

import contextlib
import re

import pytest
from playwright.sync_api import Error, Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_admin import enter
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def test_recent_activity_lists_this_browser_and_its_sign_in(page: Page, site: Installation) -> None:
    sign_up(page, site, "activity@example.org")
    page.goto(f"{site.url}/settings/")
    page.get_by_role("link", name="Recent activity").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("this browser")
    expect(main).to_contain_text("Signed in")
    accessible(page)


def test_pages_that_are_open_empty_themselves_once_the_session_has_ended(page: Page, site: Installation) -> None:
    enter(page, site, "elsewhere@example.org")
    tabs = [page, page.context.new_page(), page.context.new_page()]
    for tab, path in zip(tabs, ("/reminders/", "/admin/", "/admin/auth/group/add/?_popup=1"), strict=True):
        tab.goto(f"{site.url}{path}")
    other = page.context.new_page()
    other.goto(f"{site.url}/settings/")
    other.get_by_role("button", name="Sign out").click()
    expect(other).to_have_url(re.compile("/account/login/"))
    for tab in tabs:
        with contextlib.suppress(Error):  # a page whose socket has closed leaves by itself
            tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # somebody looks at it
        expect(tab).to_have_url(re.compile(r"/account/login/\?next="))
