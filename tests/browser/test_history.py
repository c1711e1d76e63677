"""The history in a real browser: filtered by day, channel and state, with its chart, codes and tests apart."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

# Of the reader's newest 40 days, one delivery a day to the inbox, and every fifth failed.
# No triggers: they begin as they ended.
SENT = """
WITH said AS (
    INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome, created_at)
    SELECT uuidv7(at - now()), uuidv7(), u.id, CASE n WHEN 3 THEN 'test' ELSE 'api' END, 'Water ' || n, '',
           CASE WHEN n %% 5 = 0 THEN 'failed' ELSE 'full' END, at
      FROM people_user u, generate_series(0, 39) n,
           timezone('Europe/Berlin', timezone('Europe/Berlin', now()) - n * interval '1 day') at
     WHERE u.email = %(address)s RETURNING *
)
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, cause, wakes, tries, replays,
                                    settled_at, created_at)
SELECT uuidv7(), s.id, c.id, 'inbox', CASE outcome WHEN 'full' THEN 'delivered' ELSE 'dead' END, 'x', 0, 1, 0,
       s.created_at, s.created_at
  FROM said s JOIN notifications_channel c ON c.user_id = s.user_id AND c.provider = 'inbox'
"""


def test_the_history_is_narrowed_by_state_channel_and_day_and_its_chart_follows(page: Page, site: Installation) -> None:
    address = "history@example.org"
    sign_up(page, site, address)
    with psycopg.connect(site.database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(SENT, {"address": address})

    page.goto(f"{site.url}/history/")
    expect(page.get_by_role("img", name="What arrived")).to_be_visible()
    expect(page.locator(".chart")).to_contain_text("6 failed")
    page.get_by_text("Numbers", exact=True).click()
    accessible(page)
    page.get_by_label("State", exact=True).select_option("failed")  # submits
    expect(page.get_by_role("link", name="Water 5", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Water 6", exact=True)).to_have_count(0)
    page.get_by_label("Channel", exact=True).select_option(label="Inbox")
    page.get_by_role("link", name="7 days").click()
    expect(page.get_by_role("link", name="Water 5", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Water 10", exact=True)).to_have_count(0)
    expect(page.get_by_label("State", exact=True)).to_have_value("failed")
    accessible(page)
    page.get_by_label("From", exact=True).fill("2026-06-02")
    page.get_by_label("To", exact=True).fill("2026-06-01")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("This is before the first day.")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Codes and tests").click()
    expect(page.get_by_role("link", name="Water 3", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Water 4", exact=True)).to_have_count(0)
    accessible(page)
