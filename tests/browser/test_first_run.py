"""`script/server` on a machine that has nothing, not even a mail server, in front of a stranger with a browser."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from config.embedded.locks import is_free
from config.embedded.postgres import Postgres
from demo.installation import wait_until
from demo.receivers import HTTPReceiver, Reply
from tests.browser.conftest import fits, opened, watched
from tests.browser.test_browser import in_berlin
from tests.browser.test_channels import confirms, sign_up
from tests.process.config.test_commands import Server

pytestmark = pytest.mark.browser

HEARD = """
self.heard = [];
const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () {
    this.addEventListener("ended", () => heard.push([new URL(this.src).pathname, this.volume, this.muted]));
    return play.call(this);
};
"""


# What beat does every five minutes, it does every second.
SOON = """
UPDATE django_celery_beat_periodictask SET interval_id = sooner.interval_id
  FROM django_celery_beat_periodictask sooner
 WHERE django_celery_beat_periodictask.name = 'tell-owners' AND sooner.name = 'send-changes';
UPDATE django_celery_beat_periodictasks SET last_update = now();
"""


@dataclass
class Started:
    at: float  # of time.monotonic
    lines: list[str]
    url: str
    var: Path


@pytest.fixture(scope="module")
def started(executable: str) -> Iterator[Started]:
    var = Path(tempfile.mkdtemp(prefix="carillon-test-", dir="/tmp"))
    # Only a reminder to this machine needs a setting.
    began, server = time.monotonic(), Server(var, ALLOWED_NETWORKS="127.0.0.0/8,::1/128")
    try:
        wait_until(lambda: server.said("Choose the password of"), "the last line", within=400)
        yield Started(began, server.lines, f"http://127.0.0.1:{server.port}", var)
    finally:
        server.process.terminate()
        server.process.wait(120)
        wait_until(
            lambda: all(is_free(keeper) for keeper in var.glob("*/keeper")), "the end of the engines", within=120
        )
        shutil.rmtree(var)


@pytest.fixture(params=[360], ids=["360px"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    with opened(browser, request.param) as page, watched(page):
        page.add_init_script(HEARD)
        yield page


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["1280px"])
def test_a_stranger_hears_a_first_reminder_after_five_steps(page: Page, started: Started) -> None:
    # 1: script/server. Its last lines say where to go.
    assert not any("superuser privileges" in line for line in started.lines)
    [place] = [place for place, line in enumerate(started.lines) if f"Carillon is ready: {started.url} " in line]
    link = rf"Choose the password of admin@localhost within an hour: {started.url}/account/password/reset/key/\S+"
    assert re.search(link, started.lines[place + 1])
    assert not any(re.search(" ready\\.|Starting|Started", line) for line in started.lines[place + 2 :])

    # 2: sign up. Nobody can read a mail, so nothing is said of one.
    page.goto(started.url)
    page.get_by_role("main").get_by_role("link", name="Sign up").click()
    page.get_by_label(re.compile("e-?mail", re.I)).fill("stranger@example.org")
    page.get_by_label("Password").fill("a long enough passphrase")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", name="No reminders yet")).to_be_visible()
    expect(page.get_by_role("status")).not_to_contain_text(re.compile("link|confirm|sent", re.I))

    # 3: turn on the sound.
    page.get_by_role("link", name=re.compile("^Inbox")).click()
    page.get_by_label("Play a sound").check()
    expect_heard(page)  # a sample

    # 4: say it in one line, and save.
    page.get_by_role("link", name="Create a reminder").click()
    line = page.get_by_label("Quick add").get_by_role("textbox")
    line.fill("in a minute stretch")
    line.press("Enter")
    expect(page.get_by_label("Title")).to_have_value("stretch")
    for ahead in (4, 20, 60):  # instead of a whole minute
        page.get_by_label("Date and time").fill(in_berlin(timedelta(seconds=ahead)).isoformat())
        with page.expect_navigation():
            page.get_by_role("button", name="Create reminder").click()
        if not page.url.endswith("/reminders/new/"):
            break  # else a slow machine sent the form after the time that it names
    expect(page.get_by_role("status")).to_contain_text("is created.")

    # 5: hear it.
    expect(page.get_by_role("link", name=re.compile("^Inbox"))).to_contain_text("1 unread")
    expect_heard(page)
    assert time.monotonic() - started.at < 900  # a minute or less on a quiet machine
    fits(page)


def test_a_failure_is_told_in_the_inbox_at_once_though_mails_are_files_and_hours_quiet(
    page: Page, started: Started
) -> None:
    address = "told@example.org"
    sign_up(page, started, address)
    page.goto(f"{started.url}/settings/")
    page.get_by_label("Quiet from").fill(f"{in_berlin(timedelta(hours=-1)):%H:%M}")
    page.get_by_label("Quiet until").fill(f"{in_berlin(timedelta(hours=3)):%H:%M}")
    page.get_by_role("main").get_by_role("button", name="Save").first.click()
    page.goto(f"{started.url}/channels/")
    page.get_by_role("button", name=f"Add email to {address}").click()
    expect(page.get_by_role("main")).to_contain_text("No mail server is configured: emails are saved in")
    code = wait_until(lambda: code_in(started.var / "mail", address), "the file", within=120)
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Confirm", exact=True).click()

    shown = Event()
    with HTTPReceiver(confirms(Reply(410), shown)) as pager:
        page.goto(f"{started.url}/channels/new/webhook/")
        page.locator("#id_url").fill(pager.url.replace("127.0.0.1", "localhost"))
        page.get_by_label("Name", exact=False).last.fill("Pager")
        page.get_by_role("main").get_by_role("button", name="Add").click()
        page.get_by_role("link", name="Next: enter the code").click()
        shown.set()
        expect(page.get_by_role("status")).to_contain_text("“Pager” is ready.")
        page.goto(f"{started.url}/reminders/new/")
        page.get_by_label("Title").fill("Feed the cat")
        page.get_by_label("Daily", exact=True).check()
        page.get_by_role("checkbox", name="Pager").check()
        page.get_by_role("checkbox", name="Email").uncheck()
        page.get_by_role("checkbox", name="Inbox").uncheck()
        page.get_by_role("button", name="Create reminder").click()
        page.get_by_role("button", name="Run now").click()
        expect(page.locator("#past-times")).to_contain_text("failed")
    page.reload()
    expect(page.locator("#outcome")).to_contain_text(re.compile("Reaches nobody: “Pager” is disabled. .*410"))
    with psycopg.connect(Postgres(started.var).url) as connection:
        connection.execute(SOON)

    page.goto(f"{started.url}/inbox/")
    page.get_by_role("link", name="“Pager” is disabled").click()
    page.get_by_role("link", name="All deliveries").click()
    deliveries = page.get_by_role("main")
    expect(deliveries).to_contain_text(re.compile("Inbox.*delivered", re.DOTALL))
    expect(page.get_by_role("heading", level=3)).to_have_count(1)  # no email, which no server would take
    fits(page)


def expect_heard(page: Page) -> None:
    """Once, to its end, as loud as can be."""
    wait_until(lambda: page.evaluate("heard"), "the sound", within=120)
    assert page.evaluate("heard") == [["/static/ring.wav", 1, False]]


def code_in(folder: Path, address: str) -> str | None:
    """The code in a mail to `address` in a folder."""
    mails = [mail.read_text() for mail in folder.glob("*")]
    found = [re.search(r"^\d{4}-\d{4}", mail, re.MULTILINE) for mail in mails if f"To: {address}" in mail]
    return next((code[0] for code in found if code), None)
