"""`script/screenshots`: the pictures in docs/, of pages of today, in a real browser."""

from __future__ import annotations

import secrets
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import Browser, sync_playwright

from config.embedded.var import CHECKOUT
from demo import codes
from demo.installation import DemoFailed, Installation
from demo.operator import Operator
from demo.person import Person
from demo.receivers import HTTPReceiver, SMTPReceiver

_SIZE = {"width": 1280, "height": 800}
_ADA, _OPERATOR = "ada@example.org", "operator@example.org"
_REMINDERS = (
    "Stand-up in the blue room every weekday at 9:30",
    "Water the plants every Wednesday and Saturday at 8:00",
    "Call grandmother every Sunday at 17:00",
    "Rotate the backup disks every Friday at 20:00",
    "Put the bins out every 2 weeks on Monday at 19:00",
    "Dentist tomorrow at 14:15",
    "Pay the rent every month on the 1st at 8:00",
    "Renew the passport on 12 March at 10:00",
)


def main() -> None:
    password = secrets.token_urlsafe(12)
    with SMTPReceiver() as post, HTTPReceiver() as chat, Installation("screenshots", EMAIL_URL=post.url) as site:
        site.start(site.web, site.worker, site.beat)
        with closing(Person(site.url, "Ada", _ADA, password, "Europe/Berlin")) as ada:
            ada.add_email("Email", _ADA)
            ada.confirm("Email", lambda: codes.in_mails(post, _ADA))
            ada.add_webhook("Team chat", chat.url)
            ada.confirm("Team chat", partial(codes.in_posts, chat))
            token = ada.token("Screenshots", password)
        _remind(f"{site.url}/api/v1", token)
        Operator(site, _OPERATOR, password).close()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            _show(browser, site, (_ADA, password), "/reminders/", "screenshot-reminders")
            _show(browser, site, (_OPERATOR, password), "/admin/", "screenshot-admin")


def _remind(address: str, token: str) -> None:
    with requests.Session() as api:
        api.headers["Authorization"] = f"Bearer {token}"
        channels = [one["id"] for one in api.get(f"{address}/channels", timeout=30).json()["items"]]
        for number, text in enumerate(_REMINDERS):
            _add(api, address, text, channels[: 1 + number % len(channels)])


def _add(api: requests.Session, address: str, text: str, channels: list[str]) -> None:
    """A reminder as quick add understands it."""
    draft = api.post(f"{address}/schedules/quick-add", json={"text": text, "time_zone": "Europe/Berlin"}, timeout=30)
    body = {name: value for name, value in draft.json().items() if name not in {"description", "next_run_at"}}
    answer = api.post(f"{address}/schedules", json=body | {"channel_ids": channels}, timeout=30)
    if not answer.ok:
        raise DemoFailed(f"“{text}” was refused: {answer.text}")


def _show(browser: Browser, site: Installation, account: tuple[str, str], path: str, name: str) -> None:
    size: Any = _SIZE
    page = browser.new_context(viewport=size, color_scheme="light").new_page()
    page.goto(site.url + path)
    page.get_by_label("Email").fill(account[0])
    page.locator("input[type=password]").fill(account[1])
    page.keyboard.press("Enter")
    page.wait_for_url(site.url + path)
    page.screenshot(path=Path(CHECKOUT, "docs", f"{name}.png"))
    page.context.close()


if __name__ == "__main__":
    main()
