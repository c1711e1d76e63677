"""A browser without scripts: cookies, pages, and forms that are filled in and sent."""

from __future__ import annotations

from urllib.parse import urljoin

import requests

from demo.installation import DemoFailed
from demo.page import Form, Page

_TIMEOUT = 60.0  # seconds


class Browser:
    """A session of one person. Close it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._session = requests.Session()
        self._session.trust_env = False  # ignore proxies of this machine

    def close(self) -> None:
        self._session.close()

    def open(self, path: str) -> Page:
        """Raises DemoFailed for anything but a page."""
        return _page(self._session.get(urljoin(self.address, path), timeout=_TIMEOUT))

    def ask(self, page: Page, form: Form, path: str) -> Page:
        """Send a form to another address, as a button of it does that shows more of the page."""
        where = urljoin(page.address, path)
        answer = self._session.post(where, data=form.values, headers={"Referer": page.address}, timeout=_TIMEOUT)
        return _page(answer)

    def send(self, page: Page, form: Form) -> Page:
        """Send a form and follow to the page after it. Raises DemoFailed when the form comes back with errors."""
        where = urljoin(page.address, form.action)
        if form.method == "get":
            return _page(self._session.get(where, params=form.values, timeout=_TIMEOUT))
        answer = self._session.post(where, data=form.values, headers={"Referer": page.address}, timeout=_TIMEOUT)
        after = _page(answer)
        if not answer.history:
            raise DemoFailed(f"{where} did not take the form: {'; '.join(after.errors) or after.text[:300]}")
        return after


def _page(answer: requests.Response) -> Page:
    page = Page(answer.url, answer.text)
    if answer.status_code != 200:
        raise DemoFailed(f"{answer.url} answered {answer.status_code}: {page.text[:300]}")
    return page
