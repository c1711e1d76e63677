"""In a real browser: a calendar file becomes reminders, everything goes into a file and out of one, and is deleted."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from demo.installation import Installation
from tests.browser.conftest import accessible
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser

PASSWORD = "a long enough passphrase"
CALENDAR = "\r\n".join(
    [
        "BEGIN:VCALENDAR",
        *("BEGIN:VEVENT", "UID:1", "DTSTART;TZID=Europe/Berlin:20900105T090000", "SUMMARY:Dentist", "END:VEVENT"),
        *("BEGIN:VEVENT", "UID:2", "DTSTART:20900106T180000Z", "RRULE:FREQ=WEEKLY", "SUMMARY:Choir", "END:VEVENT"),
        *("BEGIN:VEVENT", "UID:3", "DTSTART:20200106T180000Z", "SUMMARY:Long ago", "END:VEVENT"),
        "END:VCALENDAR",
    ]
)

TASKS = (
    "TYPE,CONTENT,DATE,DATE_LANG\n"
    "task,Water the plants,every monday at 9am,en\n"
    "task,A walk,when it is warm,en\n"
    "task,Read,,\n"
)


def test_data_comes_and_goes(page: Page, site: Installation) -> None:
    sign_up(page, site, "dana@example.org")
    page.goto(f"{site.url}/reminders/")
    page.get_by_role("link", name="import from a calendar").click()
    _choose(page, "calendar.ics", CALENDAR)
    expect(page.get_by_role("heading", level=1)).to_have_text("Import 2 reminders")
    expect(page.locator("#left-out")).to_contain_text("Long ago")
    page.get_by_label("Choir").uncheck()
    accessible(page)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 reminder is imported")
    imported = page.url

    page.goto(f"{site.url}/settings/")
    page.get_by_role("link", name="Export").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    exported = Path(download.value.path()).read_text()
    assert [one["title"] for one in json.loads(exported)["reminders"]] == ["Dentist"]

    page.goto(imported)
    page.get_by_role("button", name="Remove it again").click()
    expect(page.get_by_role("status")).to_contain_text("removed again")

    page.goto(f"{site.url}/settings/import/")
    _choose(page, "carillon.json", exported)
    expect(page.locator("#counts")).to_contain_text("Reminders")
    accessible(page)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("Dentist")

    page.goto(f"{site.url}/settings/delete/")
    if "reauthenticate" in page.url:
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("main")).to_contain_text("1 reminder")
    accessible(page)
    page.get_by_role("link", name="Download your data").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert "schedules_schedule.jsonl" in archive.namelist()

    page.goto(f"{site.url}/settings/delete/")
    page.get_by_label("Your email address").fill("dana@example.org")
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("status")).to_contain_text("Your account is deleted")
    page.goto(f"{site.url}/reminders/")
    expect(page).to_have_url(re.compile("/account/login/"))


def test_tasks_of_another_program_are_previewed_imported_and_removed_again(page: Page, site: Installation) -> None:
    sign_up(page, site, "tess@example.org")
    page.goto(f"{site.url}/reminders/import/")
    accessible(page)
    _choose(page, "Home.csv", TASKS)
    expect(page.get_by_role("heading", level=1)).to_have_text("Import 1 reminder")
    expect(page.locator("#new-entries")).to_contain_text("Every Monday at 09:00")
    expect(page.locator("#left-out")).to_contain_text("Line 3: A walk")
    accessible(page)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 reminder is imported")
    page.get_by_role("button", name="Remove it again").click()
    expect(page.get_by_role("status")).to_contain_text("removed again")


def _choose(page: Page, name: str, content: str) -> None:
    page.set_input_files("#id_file", {"name": name, "mimeType": "text/plain", "buffer": content.encode()})
    page.get_by_role("button", name="Continue").click()
