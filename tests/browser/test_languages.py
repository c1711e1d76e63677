"""A browser that asks for German sees German, and an account chooses another language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from demo.browser import PATIENCE


@pytest.fixture
def german(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 800}, locale="de-DE", timezone_id="Europe/Berlin")
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def language(page: Page) -> str | None:
    return page.locator("html").get_attribute("lang")
