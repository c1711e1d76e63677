"""A person adds, confirms and tries a channel of each kind in a real browser, on a narrow screen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Protocol

import pytest
from playwright.sync_api import Error, Page, Route, expect

from demo import codes
from demo.installation import Installation, wait_until
from demo.receivers import HTTPReceiver, Received, Reply, SMTPReceiver
from demo.services import Service
from tests.browser.conftest import accessible, fits
from tests.browser.hands import drag

pytestmark = pytest.mark.browser


class Site(Protocol):
    url: str


def sign_up(page: Page, site: Site, email: str) -> None:
    """Without the page of sign-up, which other tests show. No page is open then."""
    form, token = f"{site.url}/account/signup/", "a" * 32
    page.context.add_cookies([{"name": "csrftoken", "value": token, "url": site.url}])
    typed = {"name": "Ada", "email": email, "password1": "a long enough passphrase", "time_zone": "Europe/Berlin"}
    typed["csrfmiddlewaretoken"] = token
    answer = page.request.post(form, form=typed, headers={"Referer": form}, max_redirects=0)
    assert answer.headers["location"] == "/reminders/"
    page.context.clear_cookies(name="messages")  # its greeting


def add_own_email(page: Page, site: Installation, email: str) -> None:
    """As a channel that is confirmed; how a code does it is shown elsewhere."""
    page.goto(f"{site.url}/channels/")
    page.get_by_role("button", name=f"Add email to {email}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Confirm")
    page.goto(f"{site.url}/channels/")  # that page leaves by itself once the channel is confirmed
    ready = "UPDATE notifications_channel SET verified_at = now() WHERE provider = 'email' AND verified_at IS NULL"
    site.rows(f"{ready} RETURNING id")


_LEAD_ON = """() => [1, 2].map(() => document.dispatchEvent(new CustomEvent("htmx:beforeOnLoad", {
  cancelable: true, detail: { xhr: { getResponseHeader: () => "/" } },
})))"""


def confirms(otherwise: Reply, shown: Event | None = None) -> Callable[[Received], Reply]:
    """The answers of a program that confirms its channel itself, but not before the page with the code is `shown`."""

    def answer(request: Received) -> Reply:
        code = json.loads(request.body)["data"].get("code")
        if code and shown:
            shown.wait(60)
        return Reply(body=json.dumps({"code": code}).encode()) if code else otherwise

    return answer


def test_a_channel_of_each_kind(page: Page, site: Installation, others: list[Service]) -> None:
    sign_up(page, site, "channels@example.org")
    for service in others:
        page.goto(f"{site.url}/channels/new/")
        page.get_by_role("main").locator(f'a[href$="/{service.kind}/"]').click()
        for name, value in service.typed.items():
            page.locator(f'[name="{name}"]').fill(value)
        page.get_by_label("Name", exact=False).last.fill(service.label)
        fits(page)
        page.get_by_role("main").get_by_role("button", name="Add").click()
        expect(page.get_by_role("status")).to_contain_text("A code is on its way")
        receiver = service.receiver
        page.get_by_label("Code").fill(wait_until(lambda there=receiver: codes.in_posts(there), "the code", within=180))
        fits(page)
        page.get_by_role("button", name="Confirm", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("is ready")
        page.get_by_role("button", name=f"Send a test to {service.label}").click()
        expect(page.get_by_text("Test:").last).to_contain_text("Accepted")
        assert len(service.said("Test from Carillon")) == 1
    fits(page)
    # Two polls that lead on: the first does, or the second would take the notice from the page that comes.
    assert page.evaluate(_LEAD_ON) == [True, False]


def test_a_code_that_is_confirmed_while_the_page_looks_for_its_result_is_told_of_once(
    page: Page, site: Installation, post: SMTPReceiver
) -> None:
    email = "race@example.org"
    sign_up(page, site, email)
    polls: list[Route] = []
    page.route("**/channels/tests/*/", lambda poll: polls.append(poll))
    page.goto(f"{site.url}/channels/")
    with page.expect_request("**/channels/tests/*/"):
        page.get_by_role("button", name=f"Add email to {email}").click()
    page.get_by_label("Code").fill(wait_until(lambda: codes.in_mails(post, email), "the code", within=60))

    def confirm(form: Route) -> None:
        """The answers to the form and to the poll arrive together."""
        answer = form.fetch(max_redirects=0)
        leads_on = polls[0].fetch()
        assert "hx-redirect" in leads_on.headers
        form.fulfill(response=answer)
        with suppress(Error):  # the next page may be there already
            polls[0].fulfill(response=leads_on)

    page.route("**/verify/", confirm, times=1)
    page.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("is ready")
    expect(page.locator(".message", has_text="is ready")).to_have_count(1)


def test_what_is_wrong_with_an_address_stands_at_its_field_with_what_was_typed_beside_it(
    page: Page, site: Installation
) -> None:
    sign_up(page, site, "fields@example.org")
    for kind, field, typed, said in [
        ("telegram", "token", "123456:a token with spaces", "A bot token is a number, a colon"),
        ("discord", "url", "https://example.org/api/webhooks/1/x", "not the URL of a Discord webhook"),
        ("webhook", "url", "http://10.0.0.1/", "inside a private network"),
    ]:
        page.goto(f"{site.url}/channels/new/{kind}/")
        page.locator(f'[name="{field}"]').fill(typed)
        page.get_by_label("Name", exact=False).last.fill("Mine")
        page.get_by_role("main").get_by_role("button", name="Add").click()
        expect(page.locator(f"#id_{field}_error")).to_contain_text(said)
        expect(page.locator(f'[name="{field}"]')).to_be_focused()
        expect(page.get_by_label("Name", exact=False).last).to_have_value("Mine")
        fits(page)
    assert site.rows("SELECT 1 FROM notifications_channel c WHERE provider <> 'inbox' AND label = 'Mine'") == []


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_channels_are_ordered_by_keyboard_and_by_dragging_and_an_inbox_first_is_warned_of(
    page: Page, site: Installation
) -> None:
    sign_up(page, site, "order@example.org")
    page.goto(f"{site.url}/channels/new/queue/")
    page.get_by_label("Name", exact=False).last.fill("Pager")
    page.get_by_role("main").get_by_role("button", name="Add").click()
    page.goto(f"{site.url}/reminders/new/")
    expect(page.get_by_role("checkbox", name="Inbox")).to_be_checked()
    page.get_by_role("checkbox", name="Pager").check()
    page.get_by_text("All at once, or in order").click()
    page.get_by_label("In order, until one arrives").check()
    warning, inbox = page.get_by_text("The inbox takes every message"), page.get_by_label("Position of Inbox").first
    expect(warning).to_be_visible()
    page.get_by_role("button", name="Position of Inbox: down").press("Enter")
    expect(inbox).to_have_value("2")
    expect(warning).to_be_hidden()
    accessible(page)
    grips = page.locator(".grip")
    drag(grips.nth(1), grips.nth(0))
    expect(inbox).to_have_value("1")
    expect(warning).to_be_visible()


def test_a_typed_token_is_shown_and_kept(page: Page, site: Installation) -> None:
    sign_up(page, site, "token@example.org")
    page.goto(f"{site.url}/channels/new/ntfy/")
    page.locator("#id_token").fill("tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2")
    page.get_by_role("button", name="Show Access token").click()
    expect(page.locator("#id_token")).to_have_attribute("type", "text")
    page.locator("#id_topic").fill("not a topic")
    page.get_by_role("main").get_by_role("button", name="Add").click()
    expect(page.locator("#id_token")).to_have_value("tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2")
    expect(page.locator("#id_token")).to_have_attribute("type", "password")
    accessible(page)


def test_a_webhook_of_this_machine_confirms_itself_and_its_page_counts(page: Page, site: Installation) -> None:
    sign_up(page, site, "webhook@example.org")
    shown = Event()
    with HTTPReceiver(confirms(Reply(), shown)) as receiver:
        page.goto(f"{site.url}/channels/new/webhook/")
        page.locator("#id_url").fill(receiver.url.replace("127.0.0.1", "localhost"))
        page.get_by_label("Name", exact=False).last.fill("Lamp")
        page.get_by_role("main").get_by_role("button", name="Add").click()
        page.get_by_role("link", name="Next: enter the code").click()
        shown.set()
        expect(page.get_by_role("status")).to_contain_text("“Lamp” is ready.")  # nobody has entered it
        page.get_by_role("link", name="Lamp", exact=True).click()
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_text("Test:").last).to_contain_text("Accepted")
    page.reload()
    statistics = page.locator("#statistics")
    expect(statistics).to_contain_text(re.compile(r"Delivered\s*2\s*Failed\s*0\s*Last delivered"))
    expect(statistics).to_contain_text("Median time")
    fits(page)
