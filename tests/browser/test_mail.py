"""A mail as its reader sees it: opened in a browser, and answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation, wait_until
from demo.receivers import Mail, SMTPReceiver
from tests.browser.conftest import fits
from tests.browser.test_channels import add_own_email, sign_up

pytestmark = pytest.mark.browser

LINKS = ["Done", "Snooze", "Open", "Stop these messages"]


def part(mail: Mail, kind: str) -> str:
    found = mail.message.get_body((kind,))
    assert found is not None
    return str(found.get_content())


def test_done_is_pressed_in_a_mail_which_ends_with_the_link_that_stops_them(
    page: Page, site: Installation, post: SMTPReceiver, tmp_path: Path
) -> None:
    address = "mail@example.org"
    sign_up(page, site, address)
    add_own_email(page, site, address)
    page.goto(f"{site.url}/reminders/new/")
    page.get_by_label("Title").fill("Call the dentist")
    page.get_by_text("More", exact=True).click()
    page.locator("#id_body").fill("Ask for March.")
    page.get_by_label("Daily", exact=True).check()
    page.get_by_role("checkbox", name="Email").check()
    page.get_by_role("button", name="Create reminder").click()
    page.get_by_role("button", name="Run now").click()

    def received() -> list[Mail]:
        return [
            one for one in post.mails if one.recipients == [address] and one.message["Subject"] == "Call the dentist"
        ]

    wait_until(received, "the mail", within=180)
    [mail] = received()
    text = part(mail, "plain")
    places = [text.index(words) for words in ("Ask for March.", "Done or snooze: ", "Open: ", "Stop these messages: ")]
    assert places == sorted(places)

    opened = tmp_path / "mail.html"
    opened.write_text(part(mail, "html"))
    page.goto(opened.as_uri())
    assert page.get_by_role("link").all_inner_texts() == LINKS
    fits(page)
    answer, snooze, shown, stop = (page.get_by_role("link", name=name).get_attribute("href") for name in LINKS)
    assert snooze == f"{answer}#snooze"
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("button", name="10 minutes")).to_be_visible()
    fits(page)
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("status")).to_contain_text("“Call the dentist” is done.")
    expect(page.get_by_role("main")).to_contain_text(re.compile(r"Done .*\."))

    page.goto(str(shown))
    expect(page.get_by_role("heading", level=1)).to_have_text("Call the dentist")
    page.goto(str(stop))
    expect(page.get_by_role("button", name=re.compile("Stop"))).to_be_visible()
