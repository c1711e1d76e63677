"""A person who uses the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from demo.browser import Browser
from demo.installation import DemoFailed, wait_until
from demo.page import Page


class Person:
    """Signs up, and has an inbox from then on. Close it."""

    def __init__(self, address: str, name: str, email: str, password: str, time_zone: str) -> None:
        self.email = email
        self.time_zone = time_zone
        self._reminders: dict[str, str] = {}
        """The address of each by its title."""
        self._browser = Browser(address)
        page = self._browser.open("/account/signup/")
        form = page.form("password1").fill(email=email, password1=password, name=name, time_zone=time_zone)
        self._browser.send(page, form)

    def close(self) -> None:
        self._browser.close()

    def add(self, kind: str, label: str, **fields: str) -> Page:
        """Add a channel; returns the page after it."""
        page = self._browser.open(f"/channels/new/{kind}/")
        return self._browser.send(page, page.form("label").fill(label=label, **fields))

    def connect(self, kind: str, label: str, **fields: str) -> Page:
        """Add a connection, to which its source must answer; returns the page after it."""
        page = self._browser.open(f"/connections/new/{kind}/")
        return self._browser.send(page, page.form("label").fill(label=label, **fields))

    def add_email(self, label: str, address: str) -> None:
        self.add("email", label, address=address)

    def add_webhook(self, label: str, url: str) -> str:
        """Returns the signing secret, which the page shows this once."""
        after = self.add("webhook", label, url=url)
        shown = re.search(r"whsec_[A-Za-z0-9+/=]+", after.source)
        if shown is None:
            raise DemoFailed(f"no signing secret is shown for “{label}”: {after.text[:300]}")
        return shown[0]

    def confirm(self, label: str, read_code: Callable[[], str | None]) -> None:
        """Enter the code that has arrived on the channel, as soon as `read_code` finds it."""
        page = self._browser.open(self._browser.open("/channels/").link(f"Confirm {label}"))
        self._browser.send(page, page.form("code").fill(code=wait_until(read_code, f"the code for “{label}”", 60)))

    def token(self, label: str, password: str) -> str:
        """A token that may do all but making others; the page shows it this once."""
        asked = self._browser.open("/settings/tokens/new/?preset=all")
        page = self._browser.send(asked, asked.form("password").fill(password=password))
        [token] = self._browser.ask(page, page.form("label").fill(label=label), page.address).texts("secret")
        return token.split()[0]

    def page(self, path: str) -> Page:
        return self._browser.open(path)

    def remind(self, title: str, at: datetime, check: str = "", **fields: str) -> None:
        """Make a reminder for one moment, an aware instant, on all channels; where it is over by then, for a later one.

        `check` is the kind of job that it runs first, and `fields` its question.
        """
        try:
            self._remind(title, at, check, fields)
        except DemoFailed:
            if datetime.now(UTC) < at:
                raise
            self._remind(title, datetime.now(UTC) + timedelta(seconds=20), check, fields)

    def _remind(self, title: str, at: datetime, check: str, fields: dict[str, str]) -> None:
        page = self._browser.open("/reminders/new/")
        if check:
            page = self._browser.ask(page, page.form("title").fill(job_kind=check), "/reminders/job/")
        form = page.form("title").fill(**fields)
        there = at.astimezone(ZoneInfo(self.time_zone)).replace(tzinfo=None)
        form.fill(title=title, kind="once", at=there.isoformat(), time_zone=self.time_zone)
        self._reminders[title] = self._browser.send(page, form.fill(channels=form.offered["channels"])).address

    def run_now(self, title: str) -> None:
        page = self._reminder(title)
        self._browser.send(page, page.form("/run/"))

    def explained(self, title: str) -> list[str]:
        """What the page of a reminder says of each check, newest first."""
        return self._reminder(title).texts("check")

    def _reminder(self, title: str) -> Page:
        return self._browser.open(self._reminders[title])

    def inbox(self, title: str) -> int:
        """How many messages with this title are in the inbox."""
        return sum(title in words for words, _ in self._browser.open("/inbox/").links)
