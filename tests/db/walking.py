"""Every page that links lead to, and what in a page a strict Content-Security-Policy would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from django.test import Client

_MOST = 400


class Page(HTMLParser):
    """`links` leads on; `actions` are of forms; `inline` stands in the page instead of in a file; `foreign` comes from
    elsewhere.
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.actions: list[str] = []
        self.inline: list[str] = []
        self.styled: list[str] = []
        self.foreign: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        shown = self.get_starttag_text() or tag
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if tag == "form":
            self.actions.append(told.get("action", ""))
        runs = tag == "script" and "src" not in told and told.get("type") != "application/json"
        if tag == "style" or runs or any(name.startswith("on") for name in told):
            self.inline.append(shown)
        if "style" in told:
            self.styled.append(shown)
        for name, value in told.items():
            if value.strip().lower().startswith("javascript:"):
                self.inline.append(shown)
            fetched = name == "src" or (tag == "link" and name == "href")
            if fetched and (urlsplit(value).netloc or urlsplit(value).scheme) and not value.startswith("data:image/"):
                self.foreign.append(shown)

    handle_startendtag = handle_starttag


def walk(client: Client, *starts: str) -> Iterator[tuple[str, Page]]:
    """From `starts` on; a page that other rows of a list show too is opened once for each way of asking for it."""
    ahead, seen = list(starts), {urlsplit(start).path for start in starts}
    while ahead:
        path = ahead.pop(0)
        answer = client.get(path, follow=True)
        assert answer.status_code == 200, (path, answer.status_code)
        path = answer.redirect_chain[-1][0] if answer.redirect_chain else path
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        page = Page(answer.content.decode())
        yield path, page
        for link in page.links:
            there = urlsplit(urljoin(path, link))
            ours = not there.netloc and there.path and not there.path.startswith("/static/")
            if ours and there.path not in seen and len(seen) < _MOST:
                seen.add(there.path)
                ahead.append(there._replace(fragment="").geturl())
