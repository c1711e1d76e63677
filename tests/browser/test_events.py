"""A person publishes events, reads what followed and the trace, and gives a service an address, in a real browser."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import requests
from playwright.sync_api import Page, expect

from demo.installation import Installation, wait_until
from tests.browser.conftest import fits
from tests.browser.hands import Keyboard
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def make_token(page: Page, site: Installation) -> str:
    page.goto(f"{site.url}/settings/tokens/new/?preset=all")
    page.get_by_label("Password").fill("a long enough passphrase")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name", exact=True).fill("Shop")
    page.get_by_role("main").get_by_role("button", name="Create token").click()
    return page.locator(".secret code").inner_text().strip()


def publish(site: Installation, token: str, *events: dict[str, Any]) -> None:
    answer = requests.post(
        f"{site.url}/api/v1/events", json=events, headers={"Authorization": f"Bearer {token}"}, timeout=30
    )
    assert answer.status_code == 202
    ended = "SELECT 1 FROM events_event WHERE key = ANY(%s::text[]) AND settled_at IS NOT NULL"
    wait_until(
        lambda: len(site.rows(ended, [one["id"] for one in answer.json()["items"]])) == len(events),
        "their end",
        within=180,
    )


def test_events_their_trace_and_their_types(page: Page, site: Installation) -> None:
    sign_up(page, site, "events@example.org")
    page.goto(f"{site.url}/rules/")
    page.get_by_role("link", name="Events", exact=True).click()
    expect(page.get_by_role("heading", name="No event has come yet")).to_be_visible()
    fits(page)

    chain = str(uuid4())
    long = {"url": "https://shop.example.org/orders/" + "0123456789" * 12, "amount": 12}
    token = make_token(page, site)
    # Over the API, it would be refused.
    unfit = {"specversion": "1.0", "id": "1", "type": "alert.raised", "correlationid": chain}
    address = requests.post(
        f"{site.url}/api/v1/inbound", json={"label": "Hook"}, headers={"Authorization": f"Bearer {token}"}, timeout=30
    ).json()
    posted = requests.post(
        address["url"],
        json=unfit | {"source": "a-name-without-a-place-to-break" * 3},
        headers={"Content-Type": "application/cloudevents+json"},
        timeout=30,
    )
    assert posted.status_code == 202, posted.text
    publish(site, token, {"type": "order.paid", "source": "shop", "correlation_id": chain, "data": long})
    page.goto(f"{site.url}/events/")
    expect(page.get_by_role("main")).to_contain_text("Nobody listens to order.paid.")
    fits(page)
    page.get_by_role("link", name="order.paid").click()
    expect(page.get_by_role("heading", name="Data")).to_be_visible()
    fits(page)
    page.get_by_role("link", name="Trace").click()
    expect(page.get_by_role("row")).to_have_count(3)
    shown = page.evaluate("getComputedStyle(document.querySelector('.trace td'), '::before').content")
    assert shown == '"After"'  # a heading in front of each value, instead of a row of them
    fits(page)
    page.get_by_role("link", name="alert.raised").click()
    expect(page.locator(".state.dead")).to_be_visible()
    expect(page.get_by_role("button", name="Discard")).to_be_visible()
    fits(page)
    page.get_by_role("button", name="Handle it again").click()
    expect(page.get_by_role("status")).to_contain_text("It is handled again.")
    page.goto(f"{site.url}/events/types")
    expect(page.get_by_role("main")).to_contain_text("order.paid")
    fits(page)


def test_an_inbound_address_with_the_keyboard_alone(page: Page, site: Installation) -> None:
    hand = Keyboard()
    sign_up(page, site, "inbound@example.org")
    page.goto(f"{site.url}/inbound/")
    fits(page)
    hand.press(page, page.get_by_role("main").get_by_role("link", name="New address").first)
    expect(page.get_by_role("heading", name="New inbound address")).to_be_visible()
    fits(page)
    hand.press(page, page.get_by_role("button", name="Create address"))
    expect(page.get_by_label("Label")).to_be_focused()
    fits(page)
    hand.write(page, page.get_by_label("Label"), "Shop")
    hand.press(page, page.get_by_role("button", name="Create address"))
    expect(page.get_by_role("status")).to_contain_text("takes requests")
    address = page.locator("#address").inner_text()
    assert requests.post(address, json={"type": "order.paid", "total": 129.5}, timeout=30).status_code == 202
    assert requests.post(address, data=b"no JSON", timeout=30).status_code == 400
    page.reload()
    hand.press(page, page.locator("summary", has_text="taken"))
    fits(page)

    hand.press(page, page.get_by_role("link", name="Change"))
    hand.press(page, page.locator("summary", has_text="What becomes of a request"))
    hand.write(page, page.get_by_label("Type"), "body.type")
    hand.press(page, page.locator("summary", has_text="Try it"))
    hand.write(page, page.get_by_label("Body"), '{"type": "order.paid"}')
    hand.press(page, page.get_by_role("button", name="Show the event"))
    expect(page.get_by_role("heading", name="order.paid")).to_be_visible()
    fits(page)
    hand.press(page, page.get_by_role("button", name="Save"))
    expect(page.get_by_role("status")).to_contain_text("is saved")
    page.goto(f"{site.url}/inbound/")
    fits(page)
