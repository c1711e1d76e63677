"""The browser rings: a page that stays open follows, and pushed messages show with their buttons, also without a page.

No push service can be reached from here, so `subscribe` returns a subscription at our own, and what that gets is handed
to the browser's worker by the DevTools protocol, as a push service would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Playwright, expect

from common.templatetags.clock import relative
from demo.installation import Installation, wait_until
from demo.receivers import HTTPReceiver, web_push
from tests.browser.conftest import PATIENCE, accessible, launched, whole_browser
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

SHOWN = """navigator.serviceWorker.ready.then((registration) => registration.getNotifications())
    .then((shown) => shown.map((one) => [one.title, one.actions.map((action) => action.title)]))"""


DISTANCES = (
    0.4,
    1.2,
    29.7,
    61,
    3_590,
    5_000,
    86_000,
    90_000,
    200_000,
    59 * 86_400,
    100 * 86_400,
    1_100 * 86_400,
)  # seconds


RUN_NOW = """async (reminder) => {
            const text = await (await fetch(reminder)).text();
            const form = new DOMParser().parseFromString(text, "text/html").querySelector('form[action$="/run/"]');
            await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
        }"""


@pytest.fixture(scope="module")
def windowed(playwright: Playwright) -> Iterator[Browser]:
    with launched(playwright, whole_browser()) as chromium:
        yield chromium


@pytest.fixture
def push_service() -> Iterator[HTTPReceiver]:
    with HTTPReceiver(web_push.answer) as receiver:
        yield receiver


@pytest.fixture
def context(windowed: Browser, push_service: HTTPReceiver, site: Installation) -> Iterator[BrowserContext]:
    """A browser that may show notifications."""
    context = windowed.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB", timezone_id="Europe/Berlin")
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["notifications"], origin=site.url)
    subscribed = web_push.subscription(push_service.origin)
    answer = {"endpoint": subscribed.pop("endpoint"), "keys": subscribed}
    context.add_init_script(
        "if (self.PushManager) PushManager.prototype.subscribe = async (options) => {"
        " if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new TypeError();"
        f" return {{ toJSON: () => ({json.dumps(answer)}) }}; }};"
    )
    yield context
    context.close()


def deliver(devtools: CDPSession, site: Installation, registration: str, document: dict[str, Any]) -> None:
    """As the push service does when the browser is there."""
    given = {"origin": site.url, "registrationId": registration, "data": json.dumps(document)}
    devtools.send("ServiceWorker.deliverPushMessage", given)


def remind(page: Page, site: Installation, title: str) -> None:
    """Create a daily reminder; its page opens."""
    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Daily").check()
    page.get_by_role("button", name="Create reminder").click()
    expect(page.get_by_role("status")).to_contain_text("is created")


def test_this_browser_rings_with_done_and_snooze_and_is_cleared_when_it_is_done(
    context: BrowserContext, site: Installation, push_service: HTTPReceiver
) -> None:
    page = context.new_page()
    sign_up(page, site, "push@example.org")
    page.goto(f"{site.url}/channels/")
    page.get_by_role("button", name="Ring in this browser").click()
    expect(page.get_by_role("status")).to_contain_text("“Chrome on Linux” is ready")

    remind(page, site, "Water the plants")
    page.get_by_role("button", name="Run now").click()
    wait_until(lambda: push_service.requests, "the push", within=180)
    document = web_push.read(push_service.requests[0])

    devtools = context.new_cdp_session(page)
    registrations: list[dict[str, Any]] = []
    devtools.on("ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"]))
    devtools.send("ServiceWorker.enable")
    wait_until(lambda: devtools.send("Page.getAppManifest")["data"], "the page's manifest", within=180)
    manifest = devtools.send("Page.getAppManifest")
    assert (json.loads(manifest["data"])["name"], manifest["errors"]) == ("Carillon", [])
    errors = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {error["errorId"] for error in errors} <= {"in-incognito"}, "a test's browser is one"
    page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    wait_until(lambda: page.evaluate("1") and registrations, "the worker", within=180)
    registration = registrations[-1]["registrationId"]
    deliver(devtools, site, registration, document)
    wait_until(lambda: page.evaluate(SHOWN), "the notification", within=180)
    assert page.evaluate(SHOWN) == [["Water the plants", ["Done", "Snooze 10 minutes"]]]

    [worker] = context.service_workers
    pressed = "(action) => registration.getNotifications().then(([shown]) => act(shown, action))"
    worker.evaluate(pressed, "done")
    assert page.evaluate(SHOWN) == [], "saved, and nothing says otherwise"
    answered = "SELECT acknowledged_at FROM notifications_notification WHERE id = %s"
    assert site.rows(answered, document["open"].split("/")[2])[0]["acknowledged_at"]

    deliver(devtools, site, registration, document)  # as another device still shows it
    wait_until(lambda: page.evaluate(SHOWN), "the notification", within=180)
    wait_until(lambda: len(push_service.requests) > 1, "the message that closes it", within=180)
    deliver(devtools, site, registration, web_push.read(push_service.requests[1]))
    wait_until(lambda: page.evaluate(SHOWN) == [], "nothing shown", within=180)

    deliver(devtools, site, registration, {**document, "answer": "/nowhere/"})
    wait_until(lambda: page.evaluate(SHOWN), "the notification", within=180)
    worker.evaluate(pressed, "done")
    assert page.evaluate(SHOWN) == [["Not saved", []]]
    # A worker may open a page after a person's own click only, so this is what a click opens.
    shown = "registration.getNotifications().then(([shown]) => shown.data.open)"
    assert re.fullmatch("/history/[0-9a-f-]{36}/", worker.evaluate(shown))

    context.set_offline(True)
    page.goto(f"{site.url}/inbox/")
    expect(page.get_by_role("heading")).to_have_text("No connection")
    context.set_offline(False)


def test_an_open_page_follows_without_reloading(page: Page, site: Installation) -> None:
    sign_up(page, site, "live@example.org")
    remind(page, site, "Feed the cat")
    reminder = page.url
    page.goto(f"{site.url}/inbox/")
    page.get_by_label("Play a sound").check()
    page.evaluate("self.here = true")
    distances = [sign * size for size in DISTANCES for sign in (1, -1)]
    said = [relative(timezone.now() + timedelta(seconds=distance)) for distance in distances]
    assert page.evaluate("(distances) => distances.map(relative)", distances) == said, "the script and the server agree"
    page.evaluate(
        """() => {
            self.played = [];
            HTMLMediaElement.prototype.play = async function () { played.push(this.src); };
        }"""
    )
    page.evaluate(RUN_NOW, reminder)
    look = "() => { document.dispatchEvent(new Event('visibilitychange')); return document.title; }"
    wait_until(lambda: page.evaluate(look).startswith("(1) Inbox"), "the title", within=180)
    expect(page.locator("#inbox").get_by_role("link", name="Feed the cat")).to_be_visible()
    expect(page.locator("[data-unread]")).to_contain_text("1 unread")
    expect(page.get_by_role("button", name="Mark all as read")).to_be_visible()
    assert page.evaluate("played") == [f"{site.url}/static/ring.wav"]
    ago = page.locator("#inbox time[data-relative]")
    before = ago.inner_text()
    expect(ago).not_to_have_text(before)
    assert page.evaluate("self.here"), "the page was never reloaded"
    accessible(page)

    page.goto(reminder)
    firings = page.locator("#past-times > ul > li")
    expect(firings).to_have_count(1)
    page.evaluate("self.here = true")
    page.evaluate(RUN_NOW, reminder)
    wait_until(lambda: page.evaluate(look) and firings.count() == 2, "the second firing", within=180)
    expect(firings.first).to_contain_text("delivered")
    assert page.evaluate("self.here")
