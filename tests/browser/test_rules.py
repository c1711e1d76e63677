"""A person makes a rule in a real browser, sees in its preview what it would say, and an event rings by it."""

from __future__ import annotations

import re

import pytest
import requests
from playwright.sync_api import Page, expect

from demo.installation import Installation, wait_until
from tests.browser.conftest import fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


def make_token(page: Page, site: Installation) -> str:
    page.goto(f"{site.url}/settings/tokens/new/?preset=all")
    page.get_by_label("Password").fill("a long enough passphrase")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name", exact=True).fill("Shop")
    page.get_by_role("main").get_by_role("button", name="Create token").click()
    return page.locator(".secret code").inner_text().strip()


def test_a_rule_is_previewed_made_and_rings(page: Page, site: Installation) -> None:
    sign_up(page, site, "rules@example.org")
    page.goto(f"{site.url}/reminders/")
    page.get_by_role("link", name="Automation").click()
    fits(page)
    page.get_by_role("link", name="Create your first rule").click()
    page.get_by_label("Name", exact=True).fill("Big orders")
    page.get_by_label("Type of event").fill("order.*")
    page.get_by_label("Field of condition 1").fill("data.amount")
    page.get_by_label("Comparison of condition 1").select_option("above")
    page.get_by_label("Value of condition 1").fill("100")
    page.get_by_label("Title").fill("Order {data.order_id}")
    preview = page.get_by_label("Preview", exact=True)
    expect(preview).to_contain_text("No event of yours fits yet.")
    preview.get_by_text("Try other data", exact=True).click()
    preview.get_by_label("An event or its data, as JSON").fill('{"amount": 99, "order_id": 7}')
    expect(preview).to_contain_text("would stay silent")
    expect(preview).to_contain_text("Order 7")
    fits(page)

    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Field of condition 2").fill("data.vip")
    page.get_by_label("Comparison of condition 2").select_option("exists")
    expect(page.get_by_label("Value of condition 1")).to_have_value("100")
    expect(preview).to_contain_text("The event has no field data.vip.")
    page.get_by_role("button", name="Remove condition 2").click()
    expect(page.get_by_label("Field of condition 2")).to_have_value("")
    preview.get_by_label("An event or its data, as JSON").fill('{"amount": 120, "order_id": 8}')
    expect(preview).to_contain_text("would ring")
    fits(page)
    page.get_by_label("Title").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("“Big orders” is created.")
    fits(page)

    token = make_token(page, site)
    event = {"type": "order.paid", "source": "shop", "data": {"amount": 129.5, "order_id": 1234}}
    answer = requests.post(
        f"{site.url}/api/v1/events", json=event, headers={"Authorization": f"Bearer {token}"}, timeout=30
    )
    assert answer.status_code == 202
    done = "SELECT 1 FROM events_effect e JOIN events_event v ON v.id = e.event_id WHERE v.key = %s"
    wait_until(lambda: site.rows(done, answer.json()["items"][0]["id"]), "the effect", within=180)

    page.goto(f"{site.url}/rules/")
    page.get_by_role("link", name="Big orders", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("rang")
    page.get_by_role("link", name="Preview on this order.paid").click()
    expect(page.get_by_label("Preview", exact=True)).to_contain_text("Order 1234")
    fits(page)
    page.get_by_role("link", name=re.compile("Big orders")).click()
    page.get_by_role("link", name="Message of order.paid").click()
    expect(page.get_by_role("heading", name="Order 1234")).to_be_visible()
