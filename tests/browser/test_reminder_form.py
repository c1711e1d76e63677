"""The form of a reminder is one screen; what few need is folded, and unfolds where it is refused."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

_WIDTHS = ((1280, 1000), (360, 1650))  # with the greatest height of the form


def test_the_form_is_short_and_unfolds_what_is_refused(page: Page, site: Installation) -> None:
    sign_up(page, site, "form@example.org")
    page.goto(f"{site.url}/reminders/new/")
    create, tags = page.get_by_role("button", name="Create reminder"), page.get_by_label("Tags")
    expect(page.get_by_label("Next times")).to_contain_text("Once, on")
    for width, highest in _WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        expect(create).to_be_in_viewport()
        expect(tags).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollHeight") <= highest
    accessible(page)

    page.get_by_label("Weekly", exact=True).check()
    for width, _ in _WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        time, step = (page.locator(f"label[for=id_{name}]").bounding_box() for name in ("time", "step"))
        assert time and step and time["y"] == step["y"]

    more = page.get_by_text("More", exact=True)
    more.click()
    accessible(page)
    page.get_by_label("Category").fill("two words")
    more.click()
    expect(page.get_by_label("Category")).to_be_hidden()
    page.get_by_label("Title").fill("Water the plants")
    create.click()
    expect(page.get_by_label("Category")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Category").fill("plants")
    tags.fill("home, balcony")
    more.click()
    create.click()
    page.get_by_role("link", name="Edit").first.click()
    expect(page.locator(".further > summary")).to_contain_text("Tags: home, balcony · Category: plants")
    more.click()
    page.get_by_label("Time zone").fill("Nowhere")
    more.click()
    expect(page.locator("#id_time_zone_error")).to_be_visible()  # the preview found it
