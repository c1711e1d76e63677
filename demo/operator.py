"""An operator who uses the admin, and announces."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from demo.browser import Browser
from demo.installation import DemoFailed, Installation

_DEAD_LETTERS = "/admin/notifications/deadletter/"


class Operator:
    """A superuser, made by manage.py and signed in. Close it."""

    def __init__(self, site: Installation, email: str, password: str) -> None:
        site.manage("createsuperuser", "--noinput", "--email", email, DJANGO_SUPERUSER_PASSWORD=password)
        self._browser = Browser(site.url)
        page = self._browser.open("/admin/")
        self._browser.send(page, page.form("login").fill(login=email, password=password))

    def close(self) -> None:
        self._browser.close()

    def dead_letters(self) -> list[UUID]:
        page = self._browser.open(_DEAD_LETTERS)
        return [UUID(key) for form in page.forms for key in form.offered.get("_selected_action", [])]

    def replay(self, key: UUID) -> None:
        """Raises DemoFailed where the list does not have it."""
        if key not in self.dead_letters():
            raise DemoFailed(f"the admin's list of dead letters does not show {key}")
        page = self._browser.open(_DEAD_LETTERS)
        form = page.form("_selected_action").fill(action="replay", _selected_action=[str(key)])
        asked = self._browser.ask(page, form, page.address)
        self._browser.send(asked, asked.form("confirmed"))

    def announce(self, title: str, at: datetime, audience: str) -> None:
        """To "kind:key", at an aware instant."""
        page = self._browser.open("/reminders/new/")
        form = page.form("title").fill(title=title, kind="once", time_zone="UTC", audience=audience, confirmed=audience)
        self._browser.send(page, form.fill(at=at.astimezone(UTC).replace(tzinfo=None).isoformat()))

    def batch(self, title: str) -> str:
        """What the page of the batch of this title says, empty before there is one."""
        listed = [address for words, address in self._browser.open("/batches/").links if words == title]
        return self._browser.open(listed[0]).text if listed else ""
