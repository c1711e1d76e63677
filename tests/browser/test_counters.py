"""Counters in a real browser: one is created, shows its chart, and is deleted."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

# 3,000 on each of the last days, and one day with less.
ADDED = """
INSERT INTO counters_rollup (user_id, name, span, start, value)
SELECT u.id, 'builds', 86400, date_trunc('day', now(), 'UTC') - n * interval '1 day',
       CASE n WHEN 4 THEN -500 ELSE 3000 END
  FROM people_user u, generate_series(1, 12) n WHERE u.email = %s
"""


def test_a_counter_is_created_shows_its_chart_and_is_deleted(page: Page, site: Installation) -> None:
    sign_up(page, site, "counters@example.org")
    page.goto(f"{site.url}/counters/")
    expect(page.get_by_text("No counters yet")).to_be_visible()
    accessible(page)
    page.get_by_label("Name").fill("nightly builds")
    page.get_by_role("button", name="Create counter").click()
    expect(page.get_by_text("such as nightly-builds")).to_be_visible()
    page.get_by_label("Name").fill("builds")
    page.get_by_role("button", name="Create counter").click()
    expect(page.get_by_text("The sum is 0.")).to_be_visible()
    with psycopg.connect(site.database_url, autocommit=True) as database:
        database.execute(ADDED, ["counters@example.org"])
    page.get_by_role("link", name="Last 30 days").click()
    expect(page.get_by_text("in all 32,500")).to_be_visible()
    page.get_by_text("Numbers", exact=True).click()
    expect(page.get_by_role("cell", name="-500")).to_be_visible()
    accessible(page)
    page.goto(f"{site.url}/counters/")
    accessible(page)
    page.get_by_role("link", name="Delete builds").click()
    accessible(page)
    page.get_by_role("button", name="Delete counter").click()
    expect(page.get_by_text("“builds” is deleted.")).to_be_visible()
