"""`script/bench pages [--reminders 10000] [--deliveries 1000000] [--requests 30] [--json]`: server time of every page.

One person has so many reminders and deliveries, each with an attempt, and 5,000 unread messages. Django's test client
in this process asks for each page: middleware, views, statements and templates run as in production; there is no web
server and no network. CPU is that of this process, without PostgreSQL's. `--reminders 500 --deliveries 10000` is a
person with as many as one may have.

Pages are found by following links from the person's first page, and from the admin's: one for each address pattern, and
some choices of its filters and searches.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from bench.environment import arguments, environment, report

SLOW = 100.0  # ms
_SHOWN = 10
# Of each filter so many choices, and of the addresses of one pattern that differ in their query only, so many: of the
# person's, and of the admin, whose lists are many and alike.
_CHOICES, _OWN, _ADMIN = 6, 12, 4


def main() -> None:
    parser = arguments("pages")
    parser.add_argument("--reminders", type=int, default=10_000)
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=30, help="of each page")
    parser.add_argument("--only", default="", help="pages whose address begins so")
    options = parser.parse_args()
    with environment():
        import config.asgi  # noqa: F401 - sets this process up as a web process, with its garbage collector
        from bench.page_rows import fill

        began = time.perf_counter()
        owner, staff = fill(options.reminders, options.deliveries)
        print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        pages = {**found_by(owner, "/", _OWN), **found_by(staff, "/admin/", _ADMIN)}
        print(f"found {len(pages)} pages in {time.perf_counter() - began:.0f} s", flush=True)
        chosen = {path: ask for path, ask in pages.items() if path.startswith(options.only)}
        statements = Statements()
        measured = {path: statements.during(path, ask, options.requests) for path, ask in chosen.items()}
    slowest = sorted(measured, key=lambda path: -measured[path]["p95 ms"])
    print("  p50 ms   p95 ms   CPU ms  CPU p95   SQL ms  statements")
    for path in slowest:
        print(*(f"{value:>8}" for value in measured[path].values()), f" {path}")
    statements.show()
    slow, busy = ([path for path in slowest if measured[path][name] >= SLOW] for name in ("p95 ms", "CPU p95 ms"))
    print(f"{len(measured)} pages; {len(slow)} with a p95 of {SLOW:.0f} ms or more, {len(busy)} of CPU")
    print(*busy, sep="\n")
    worst = {path: measured[path] for path in slowest[:_SHOWN]}
    report("pages", 0, {"pages": len(measured), "slow": len(slow), "slow by CPU": len(busy)}, worst, {})


Ask = Callable[[], Any]


def found_by(client: Any, start: str, most: int) -> dict[str, Ask]:
    """The pages that links and filters lead to from `start`, by their paths."""
    from django.urls import Resolver404, resolve

    ahead, seen, shown = [start], {start}, defaultdict[str, int](int)
    pages: dict[str, Ask] = {}
    while ahead:
        path = ahead.pop(0)
        answer = client.get(path)
        if answer.status_code in (301, 302):
            links: Iterator[str] = iter([answer["Location"]])
        elif answer.status_code != 200:
            raise SystemExit(f"{path} answers {answer.status_code}")
        else:
            pages[path] = partial(_read, client, path)
            if not answer.headers["Content-Type"].startswith("text/html"):
                continue
            links = Page(answer.content.decode()).leads_to(path)
        for link in links:
            there = urlsplit(urljoin(path, link))
            # The admin has pages enough of its own, and signing out ends the walk.
            is_left = there.path.startswith("/admin/") != start.startswith("/admin/") or "logout" in there.path
            link = there._replace(fragment="").geturl()
            if there.netloc or is_left or link in seen or there.path.startswith("/static/"):
                continue
            try:
                name = resolve(there.path).view_name
            except Resolver404:
                continue
            name += "?" * bool(there.query)
            if shown[name] < (most if there.query else 1):
                shown[name] += 1
                seen.add(link)
                ahead.append(link)
    return pages


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def _read(client: Any, path: str) -> None:
    """Also all of a stream."""
    client.get(path).getvalue()


class Page(HTMLParser):
    """The links of a page, and the addresses that its search forms make."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, dict[str, list[str]]]] = []
        self._select = ""
        self._in_form = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        elif tag == "form":
            self._in_form = told.get("method", "get").lower() == "get"
            if self._in_form:
                self.forms.append((told.get("action", ""), {}))
        elif self._in_form and tag == "select":
            self._select = told.get("name", "")
        elif self._in_form and tag == "option" and self._select and told.get("value"):
            self._add(self._select, told["value"])
        elif self._in_form and tag == "input" and told.get("name"):
            values = {"search": ["plants", "nowhere"], "checkbox": [told.get("value", "on")]}
            for value in values.get(told.get("type", "text"), []):
                self._add(told["name"], value)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "form":
            self._in_form = False

    def _add(self, name: str, value: str) -> None:
        self.forms[-1][1].setdefault(name, []).append(value)

    def leads_to(self, path: str) -> Iterator[str]:
        """Its links, then each choice of each of its forms alone, and the first ones of all fields together."""
        yield from self.links
        for action, fields in self.forms:
            where = urlsplit(urljoin(path, action)).path
            for name, values in fields.items():
                yield from (f"{where}?{urlencode({name: value})}" for value in values[:_CHOICES])
            if len(fields) > 1:
                yield f"{where}?{urlencode({name: values[0] for name, values in fields.items()})}"


class Statements:
    """How long each page took, and its slowest statements."""

    def __init__(self) -> None:
        self.slowest: list[tuple[float, str, str]] = []

    def during(self, path: str, ask: Ask, requests: int) -> dict[str, Any]:
        from django.db import connection

        took, used = [], []
        heard: dict[str, list[float]] = defaultdict(list)

        def listen(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
            began = time.perf_counter()
            try:
                return execute(sql, values, many, context)
            finally:
                heard[sql].append((time.perf_counter() - began) * 1000)

        ask()
        with connection.execute_wrapper(listen):
            for _ in range(requests):
                began, before = time.perf_counter(), time.thread_time()
                ask()
                took.append((time.perf_counter() - began) * 1000)
                used.append((time.thread_time() - before) * 1000)
        self.slowest += [(statistics.median(times), path, sql) for sql, times in heard.items()]
        return {
            "p50 ms": round(statistics.median(took), 1),
            "p95 ms": round(_p95(took), 1),
            "CPU ms": round(statistics.median(used), 1),
            "CPU p95 ms": round(_p95(used), 1),
            "SQL ms": round(sum(map(sum, heard.values())) / requests, 1),
            "statements": sum(map(len, heard.values())) // requests,
        }

    def show(self) -> None:
        shown: set[str] = set()
        for took, path, sql in sorted(self.slowest, reverse=True):
            if sql not in shown and len(shown) < _SHOWN:
                shown.add(sql)
                print(f"{took:>8.1f} ms  {path}\n             {' '.join(sql.split())[:600]}")


if __name__ == "__main__":
    main()
