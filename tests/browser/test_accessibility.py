"""axe-core finds nothing on any page, none is too wide, and none breaks its Content-Security-Policy: people's, the
admin's, errors, and forms with errors.

Django renders each page once, in German, whose words are the longest. A plain server gives them to the browser, which
loads each once and looks at it in light and dark colours, at 1280 and 360 px. A new URL is taken in by `every_url`, and
its parameters by `values_of`.
"""

from __future__ import annotations

import mimetypes
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, IntervalSchedule, PeriodicTask
from django_celery_results.models import TaskResult
from playwright.sync_api import ConsoleMessage, sync_playwright

from common.uuid7 import uuid7
from counters.models import Rollup
from events.models import Digest, Run, Step
from jobs.models import Batch, Job
from locks.models import Lock
from notifications.deliveries.kind import DELIVERY
from notifications.models import Channel
from people.models import RefusedMailbox, User
from schedules.firing import fire
from schedules.models import Heartbeat
from tests.browser.axe import AXE, WIDTHS, violations
from tests.browser.conftest import PATIENCE, fits, launched
from tests.db.conftest import undone
from tests.db.every_url import Url, every_url, values_of
from tests.make import NOON, disabled, happen, make_channel, make_delivery, make_rule, make_schedule, make_user
from watches.models import StatusMail, StatusPage, Subscriber
from work.dead_letters import Which, Who, discard
from work.models import Work

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

_PASSWORD = "a long enough passphrase"
_NAVIGATION = "#nav-sidebar"  # of the admin: looked at once, on its first page
_REFERENCE = "/api/v1/docs"
# Of the reference of the API, the first group of operations and the first document are looked at.
_SHORTEN = """for (const one of document.querySelectorAll(
  ".api-tag ~ .api-tag ~ section:not([id^=schema-]), section[id^=schema-] ~ section")) one.remove()"""


def test_no_page_breaks_a_rule_of_axe(executable: str) -> None:
    shown = rendered()
    documents = [address for address, answer in shown.items() if is_page(answer)]
    assert len([address for address in documents if address.startswith("/admin/")]) > 120
    assert len([address for address in documents if not address.startswith("/admin/")]) > 70
    broken: dict[str, list[str]] = {}
    seen: set[str] = set()
    complaints: list[str] = []
    # Each page runs axe anew, for too short a time to repay optimised code.
    quick = "--js-flags=--no-maglev,--no-opt"
    with served(shown) as site, sync_playwright() as playwright, launched(playwright, executable, quick) as browser:
        widths = WIDTHS
        page = browser.new_page(viewport={"width": widths[0], "height": 800})
        page.set_default_timeout(PATIENCE)
        page.add_init_script(AXE)
        page.on("console", lambda said: complaints.append(f"{page.url}: {said.text}") if complains(said) else None)
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        for address in documents:
            page.goto(f"{site}{address}")
            assert page.locator("html[x-cloak]").count() == 0, address  # Alpine has run
            if address == _REFERENCE:
                fits(page)
                page.evaluate(_SHORTEN)
            left = _NAVIGATION if address.startswith("/admin/") and address != "/admin/" else None
            for told in violations(page, seen, widths, WIDTHS[0], left):
                broken.setdefault(told, []).append(address)
            widths = widths[::-1]  # begin where the last page ended: each change costs a layout
    assert broken == {}
    assert complaints == []


def complains(said: ConsoleMessage) -> bool:
    """Not so of requests that the plain server does not answer; it has all static files."""
    if said.text.startswith("Failed to load resource"):
        return "/static/" in said.location["url"]
    return said.type in ("error", "warning") and not said.text.startswith(("Response Status Error", "WebSocket"))


def is_page(answer: HttpResponse) -> bool:
    return answer["Content-Type"].startswith("text/html") and b"<html" in answer.content


def rendered() -> dict[str, Any]:
    """The answer for each address, as an operator gets it, or else a stranger; `?posted` is of an empty form."""
    operator = make_user(email="ada@example.org", password=_PASSWORD, language="de", is_staff=True, is_superuser=True)
    values = values_of(operator)
    fill(operator)
    staff, stranger = Client(), Client()
    assert staff.post("/account/login/", {"login": operator.email, "password": _PASSWORD}).status_code == 302
    shown: dict[str, Any] = {}
    for url in every_url():
        if url.name.startswith(("api:", "api3:")) or "logout" in url.name:
            continue
        path = url.path(values | row_of(url, operator))
        for client in (staff, stranger):
            with undone():
                got = client.get(path)
            if got.status_code == 200:
                shown[path] = got
                break
        if url.name == "people:account-download":
            continue  # a file, which stays open until it is read
        with undone():
            posted = client.post(path)
        if posted.status_code in {200, 400, 409, 422} and is_page(posted) and b"aria-invalid" in posted.content:
            shown[f"{path}?posted"] = posted
    shown["/nowhere/"] = stranger.get("/nowhere/")
    for template in Path("templates").glob("[45]*.html"):
        shown[f"/{template.name}"] = HttpResponse(render_to_string(template.name))
    return shown


def fill(owner: User) -> None:
    """Beside `values_of`, so that every list of the admin has a row, a dead letter of each kind among them."""
    fire.fire_due(timezone.now())
    inbox = Channel.objects.get(user=owner, provider="inbox")
    hook = make_channel(owner, "webhook", **disabled("It answered 410."), disabled_at=NOON)
    for reason in ("It answered 404.", "It answered 500."):
        make_delivery(hook, state="dead", reason=reason)
    happen(owner, type="channel.disabled", data={})
    job = {"user": owner, "kind": "feed", "slot": NOON, "origin_id": make_schedule(owner, [inbox]).id}
    rule = make_rule(owner, channels=[inbox])
    batch = Batch.objects.create(user=owner, audience="everybody", message={"title": "News"})
    run = Run.objects.get(user=owner)
    step = Step.objects.create(user=owner, run=run, handler="incident.none", key="2", correlation_id=run.correlation_id)
    reader = Subscriber.objects.create(page=StatusPage.objects.get(), address="eve@example.org", confirmed_at=NOON)
    mail = StatusMail.objects.create(user=owner, subscriber=reader, what="confirm")
    digest = Digest.objects.create(user=owner, rule=rule, type_pattern="*")
    for row in (Job.objects.create(**job), digest, batch, step, mail):
        die(row)
    letters = Which(DELIVERY, cause=make_delivery(hook, state="dead", reason="Old.", cause="old").cause)
    discard(letters.rows(), str(letters), Who(owner.pk, owner.email), "Dealt with.")
    TaskResult.objects.create(task_id="t-1", task_name="work.rescue", status="SUCCESS")
    PeriodicTask.objects.create(name="tidy", task="work.rescue", interval=IntervalSchedule.objects.create(every=5))
    ClockedSchedule.objects.create(clocked_time=NOON)
    Group.objects.create(name="Helpers")
    Lock.objects.create(user=owner, name="report", hashed="0" * 64, fence=1, acquired_at=NOON, expires_at=NOON)
    minute = timezone.now().replace(second=0, microsecond=0)
    Rollup.objects.create(user=owner, name="builds", span=60, start=minute, value=3)
    RefusedMailbox.objects.create(mailbox="eve@example.org")
    Authenticator.objects.create(user=make_user(), type=Authenticator.Type.TOTP, data={})
    Heartbeat.objects.create(process="host:1")
    Heartbeat.objects.create(process="host:2", started_at=NOON, last_seen_at=NOON + timedelta(minutes=5))


def die(row: Work) -> None:
    rows = type(row)._default_manager.filter(pk=row.pk)
    rows.update(state=row.words.working, lease_token=uuid7(), lease_until=NOON)
    rows.update(state="dead", cause="refused", lease_token=None, lease_until=None, settled_at=NOON)


def row_of(url: Url, operator: User) -> dict[str, object]:
    """For an admin page of one row or one cause, what names a row that its list shows."""
    found = re.match(r"/admin/(\w+)/(\w+)/.*<(?:\w+:)?(?:object_id|cause|id)>", url.template)
    if found is None:
        return {}
    request = RequestFactory().get("/")
    request.user = operator
    model = apps.get_model(found[1], found[2])
    row = admin.site._registry[model].get_queryset(request).first()
    assert row is not None, f"There is no {model._meta.label}: make one in `fill`."
    return {"object_id": row.pk, "id": row.pk, "cause": getattr(row, "cause", "")}


@contextmanager
def served(shown: Mapping[str, Any]) -> Iterator[str]:
    """The address of a server of these answers and of the static files."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where = urlsplit(self.path).path
            if where.startswith("/static/"):
                path = finders.find(where.removeprefix("/static/"))
                kind = mimetypes.guess_type(where)[0] or "application/octet-stream"
                headers = {"Content-Type": kind, "Cache-Control": "max-age=3600"}
                self._answer(200 if path else 404, headers, Path(path).read_bytes() if path else b"")
            elif answer := shown.get(self.path):
                self._answer(answer.status_code, answer.headers, answer.content)
            else:
                self._answer(404, {}, b"")

        def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name not in ("Content-Length", "Refresh"):  # a page that is looked at must stay
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
