"""A real Chromium in front of real processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from demo.installation import Installation
from demo.receivers import SMTPReceiver
from demo.services import Service, services

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, _NAMES)), None)
    if executable is None:
        missing = f"no browser found on PATH (looked for {', '.join(_NAMES)}); on Debian: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    # Not longer than this module: while Playwright runs, Django takes this thread for an asynchronous one.
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def post() -> Iterator[SMTPReceiver]:
    with SMTPReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def others() -> Iterator[list[Service]]:
    with services() as played:
        yield played


@pytest.fixture(scope="module")
def site(browser: Browser, post: SMTPReceiver, others: list[Service]) -> Iterator[Installation]:
    """After the browser: without one nothing needs to be started."""
    leading = {name: url for service in others for name, url in service.settings.items()}
    with Installation("test_browser", EMAIL_URL=post.url, **leading) as site:
        site.start(site.web, site.worker, site.beat)
        yield site


@pytest.fixture(params=[1280, 360], ids=["1280px", "360px"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """At both widths, in a zone that is not the server's. Fails a test whose pages complained or did not fit."""
    context = browser.new_context(
        viewport={"width": request.param, "height": 800}, locale="en-GB", timezone_id="Europe/Berlin"
    )
    context.set_default_timeout(10_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    page.on("requestfailed", lambda lost: complaints.append(f"{lost.url} {lost.failure}") if failed(lost) else None)
    yield page
    context.close()
    assert complaints == []


def failed(lost: Request) -> bool:
    """Not so where the next page came before this one had all of its pictures: the browser itself gave them up."""
    return lost.failure != "net::ERR_ABORTED"


def fits(page: Page) -> None:
    wide, shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= shown, f"{page.url} is {wide} px wide on a screen of {shown}"
