"""An inbox with thousands of unread messages answers, compressed, as any other page."""

from __future__ import annotations

import time

import psycopg
import pytest
from playwright.sync_api import Page, Route, expect

from demo.installation import Installation
from tests.browser.conftest import fits
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

# No triggers: they begin as they ended.
MESSAGES = """
WITH said AS (
    INSERT INTO notifications_notification (id, batch_id, user_id, origin, subject, body, outcome)
    SELECT uuidv7(), gen_random_uuid(), u.id, 'api', 'Ferns ' || n, 'All of them.', 'full'
      FROM people_user u, generate_series(1, %(count)s) n WHERE u.email = %(address)s RETURNING *
)
INSERT INTO notifications_delivery (id, notification_id, channel_id, provider, state, wakes, tries, replays, settled_at)
SELECT uuidv7(), s.id, c.id, 'inbox', 'delivered', 0, 1, 0, now() - split_part(s.subject, ' ', 2)::int * interval '1 s'
  FROM said s JOIN notifications_channel c ON c.user_id = s.user_id AND c.provider = 'inbox'
"""


def test_thousands_of_unread_messages_are_shown_a_page_at_a_time_and_read_at_once(
    page: Page, site: Installation
) -> None:
    address = "unread@example.org"
    sign_up(page, site, address)
    with psycopg.connect(site.database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(MESSAGES, {"address": address, "count": 5_000})

    answer = page.goto(f"{site.url}/inbox/")
    assert answer is not None and answer.headers["content-encoding"] == "gzip"
    unread = page.locator("#inbox .row.unread")
    expect(unread).to_have_count(25)
    expect(page.locator("[data-unread]")).to_contain_text("999+ unread")
    expect(page).to_have_title("(999+) Inbox · Carillon")
    fits(page)
    page.locator("#inbox").get_by_role("link", name="Older").click()
    expect(page.get_by_role("link", name="Ferns 26", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Mark all as read").click()
    expect(page.get_by_role("status")).to_contain_text("5000 messages marked as read.")
    expect(unread).to_have_count(0)
    expect(page.locator("[data-unread]")).to_be_hidden()


def test_what_arrives_between_a_page_and_its_first_look_is_shown(page: Page, site: Installation) -> None:
    address = "between@example.org"
    sign_up(page, site, address)

    def arrive(route: Route) -> None:
        with psycopg.connect(site.database_url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(MESSAGES, {"address": address, "count": 1})
        route.continue_()

    page.route("**/inbox/state/", arrive, times=1)
    page.goto(f"{site.url}/inbox/")
    expect(page.locator("#inbox .row.unread")).to_have_count(1)


def test_what_arrives_is_shown_at_once_in_every_tab_without_a_poll(page: Page, site: Installation) -> None:
    sign_up(page, site, "tabs@example.org")
    page.goto(f"{site.url}/inbox/")
    other = page.context.new_page()
    other.goto(f"{site.url}/reminders/new/")
    for tab in (page, other):
        deadline = time.monotonic() + 60
        while not tab.evaluate("Boolean(isLive && last)"):  # the policy forbids what `wait_for_function` does
            assert time.monotonic() < deadline
            tab.wait_for_timeout(100)
    page.route("**/inbox/state/", lambda route: route.fulfill(json={"at": 0}))  # older than what it has
    other.get_by_label("Title").fill("Feed the cat")
    other.get_by_label("Daily", exact=True).check()
    other.get_by_role("button", name="Create reminder").click()
    other.get_by_role("button", name="Run now").click()
    expect(page.locator("#inbox .row.unread")).to_have_count(1)
    expect(page).to_have_title("(1) Inbox · Carillon")
    expect(other.locator("#past-times")).to_contain_text("sent")
