"""A real Chromium in front of real processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect, sync_playwright
from redis import Redis

from demo.installation import Installation
from demo.receivers import SMTPReceiver
from demo.services import Service, services
from tests import migrated
from tests.browser.axe import AXE, WIDTHS, violations

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000  # milliseconds, for a machine that has much else to do
expect.set_options(timeout=PATIENCE)
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="package")
def executable() -> str:
    """Without a window where it is installed: that takes a third of the CPU, and shows no notifications."""
    return shutil.which("chromium-headless-shell") or whole_browser()


def whole_browser() -> str:
    executable = next(filter(None, map(shutil.which, _NAMES)), None)
    if executable is None:
        missing = f"no browser found on PATH (looked for {', '.join(_NAMES)}); on Debian: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return executable


@pytest.fixture(scope="package")
def playwright(executable: str) -> Iterator[Playwright]:
    """While it runs, Django takes this thread for an asynchronous one: the test with a database comes before."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright, executable: str) -> Iterator[Browser]:
    with launched(playwright, executable) as chromium:
        yield chromium


@contextmanager
def launched(playwright: Playwright, executable: str, *arguments: str) -> Iterator[Browser]:
    chromium = playwright.chromium.launch(executable_path=executable, args=[*_ARGUMENTS, *arguments])
    yield chromium
    chromium.close()


@pytest.fixture(scope="package")
def post() -> Iterator[SMTPReceiver]:
    with SMTPReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="package")
def others() -> Iterator[list[Service]]:
    with services() as played:
        yield played


@pytest.fixture(scope="package")
def processes(executable: str, post: SMTPReceiver, others: list[Service]) -> Iterator[Installation]:
    """One set of processes for all tests of this lane; none where there is no browser."""
    leading = {name: url for service in others for name, url in service.settings.items()}
    with Installation(
        "test_browser", migrated.template(), EMAIL_URL=post.url, PUSH_SERVICES="127.0.0.1", **leading
    ) as site:
        site.start(site.web, site.worker, site.beat)
        yield site


@pytest.fixture
def site(processes: Installation) -> Installation:
    """From one address, 20 people a minute may sign up."""
    with Redis.from_url(processes.redis_url) as counts:
        for key in counts.scan_iter("*allauth:rl:*:signup:*"):
            counts.delete(key)
    return processes


@contextmanager
def opened(browser: Browser, width: int, **options: Any) -> Iterator[Page]:
    """A page of a browser that nobody has used, in a zone that is not the server's."""
    options = {"locale": "en-GB", "timezone_id": "Europe/Berlin"} | options
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@contextmanager
def watched(page: Any) -> Iterator[Page]:
    """Fails if it, or another tab of its browser, complained of a page."""
    complaints: list[str] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "console": lambda said: complaints.append(said.text) if complains(said) else None,
        "weberror": lambda found: complaints.append(str(found.error)),
        "response": lambda answer: complaints.append(answer.url) if answer.status >= 400 else None,
        "requestfailed": lambda lost: complaints.append(f"{lost.url} {lost.failure}") if failed(lost) else None,
    }
    for event, listener in listeners.items():
        page.context.on(event, listener)
    yield page
    page.context.cookies()  # events that are on their way come before its answer
    for event, listener in listeners.items():
        page.context.remove_listener(event, listener)
    assert complaints == []


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[Page]:
    """For all tests: one more would take 0.1 s of CPU."""
    with opened(browser, 360) as page:
        yield page


@pytest.fixture(params=[360], ids=["360px"])
def page(request: pytest.FixtureRequest, tab: Page, processes: Installation) -> Iterator[Page]:
    """Narrow, and of nobody yet. Fails a test whose pages complained; `fits` looks at both widths."""
    tab.set_viewport_size({"width": request.param, "height": 800})
    try:
        with watched(tab):
            yield tab
    finally:
        for other in tab.context.pages[1:]:
            other.close()
        tab.unroute_all()
        tab.emulate_media(color_scheme="null")
        tab.goto(f"{processes.url}/static/bell.svg")  # on the same site, the browser keeps its process
        devtools = tab.context.new_cdp_session(tab)
        devtools.send("Storage.clearDataForOrigin", {"origin": processes.url, "storageTypes": "all"})
        devtools.detach()
        tab.context.clear_cookies()


def complains(said: ConsoleMessage) -> bool:
    """Not so where htmx tells of a request that the next page cut short; `failed` looks at all others."""
    cut_short = ("htmx:afterRequest,", "htmx:sendError,", "htmx:sendAbort,")
    return said.type in ("error", "warning") and not said.text.startswith(cut_short)


def failed(lost: Request) -> bool:
    """Not so where the next page came before this one had all of its pictures: the browser itself gave them up."""
    return lost.failure != "net::ERR_ABORTED"


def fits(page: Page) -> None:
    """Fail if the page is wider than the screen, narrow or wide."""
    before = page.viewport_size
    assert before is not None
    for width in sorted(WIDTHS, key=lambda width: width == before["width"]):  # the test's own last
        page.set_viewport_size({"width": width, "height": before["height"]})
        # Of a page that has just begun to come, there is no element yet.
        wide, shown = page.locator("html").evaluate("html => [html.scrollWidth, html.clientWidth]")
        assert wide <= shown, f"{page.url} is {wide} px wide on a screen of {shown}"


_seen: set[str] = set()


def accessible(page: Page) -> None:
    """Fail for each rule of axe-core that the page breaks, in light and dark colours, and if it does not fit."""
    assert page.viewport_size is not None
    own = page.viewport_size["width"]
    page.evaluate(AXE)
    assert list(violations(page, _seen, sorted(WIDTHS, key=lambda width: width == own), own)) == [], page.url
