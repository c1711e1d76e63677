"""Secrets are planted, a whole play goes over real processes, and all that it wrote is searched for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import requests
from django.contrib.sessions.serializers import JSONSerializer
from django.core import signing
from psycopg import sql
from redis import Redis

from demo.browser import Browser
from demo.installation import DemoFailed, Installation, wait_until
from demo.operator import Operator
from demo.outcome import outcome
from demo.person import Person
from demo.receivers import HTTPReceiver, Reply, SMTPReceiver, github, gotify, ntfy, slack, telegram
from tests import authenticator as factor, migrated
from tests.network import closed_port

pytestmark = pytest.mark.journey

PASSWORD, OPERATORS = "planted-passphrase-of-ada", "planted-passphrase-of-the-operator"
SIGNING = "whsec_cGxhbnRlZHBsYW50ZWRwbGFudGVkcGxhbnRlZA=="
QUERIES = ["planted-query-one", "planted-query-two", "planted-query-three"]
WRONG_TOKEN = "654321:planted-wrong-planted-wrong-planted-x"
WEBHOOK_TOKEN = "planted-" + "w" * 60
HEADERS = ["planted-bearer-of-a-header", "planted-key-of-a-header"]
CALENDAR = "planted-path-of-a-calendar"
PAGE_KEY = "planted-key-of-a-page"
# Links that act for whoever holds them: what is opened is written to the log of requests.
LINKED = {
    "/answer/planted:answer:token/": "planted:answer:token",
    "/unsubscribe/planted:unsubscribe:token/": "planted:unsubscribe:token",
    "/account/password/reset/key/1-planted-reset-key/": "planted-reset-key",
    "/account/confirm-email/planted:confirm:key/": "planted:confirm:key",
}
_FACTOR = "the secret of a second factor"
PLANTED = [
    *(PASSWORD, OPERATORS, SIGNING, *QUERIES, *HEADERS, *LINKED.values()),
    *(github.token("planted"), CALENDAR, PAGE_KEY),
    *(telegram.TOKEN, WRONG_TOKEN, WEBHOOK_TOKEN, slack.TOKEN, gotify.TOKEN, ntfy.TOKEN, ntfy.PROTECTED),
]


def test_the_planted_secrets_are_nowhere() -> None:
    with (
        SMTPReceiver() as post,
        HTTPReceiver() as hook,
        HTTPReceiver(Reply(404)) as moved,
        HTTPReceiver() as bots,
        HTTPReceiver(Reply(500, body=b"planted? no")) as chat,
        HTTPReceiver() as team,
        HTTPReceiver() as topics,
        HTTPReceiver() as push,
        HTTPReceiver(github.GitHub({"planted": {}}).answer) as code,
        HTTPReceiver(Reply(body=b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")) as pages,
    ):
        bots.answer, team.answer, topics.answer = telegram.answer, slack.answer, ntfy.answer
        push.answer = gotify.answer
        services = {
            "EMAIL_URL": post.url,
            "TELEGRAM_URL": bots.origin,
            "DISCORD_URL": chat.origin,
            "SLACK_URL": team.origin,
            "GITHUB_URL": code.origin,
            "LOG_LEVEL": "DEBUG",
        }
        with Installation("test_planted", migrated.template(), **services) as site:
            site.logs.update({name: deque() for name in site.logs})  # all lines, not the last ones
            site.start(site.web, site.worker, site.beat)
            written = list(_play(site, hook, moved, topics, push, pages))
            factors = [text for where, text in written if where == _FACTOR]
            written = [(where, text) for where, text in written if where != _FACTOR]
            site.stop(site.beat, site.worker)
            written += [(f"log of {name}", line) for name, lines in site.logs.items() for line in lines]
            written += list(_tables(site))
            written += list(_broker(site))
            written += [("mail", mail.message.as_string()) for mail in post.mails]
        assert [r for r in bots.requests if telegram.TOKEN in r.path], "the play did not use what it planted"
        assert {planted for planted in QUERIES[:2] for r in (*hook.requests, *moved.requests) if planted in r.path}
        receivers = (hook, team, topics, push, code, pages)
        used = str([(r.path, r.headers) for receiver in receivers for r in receiver.requests])
        assert [
            secret
            for secret in (*HEADERS, CALENDAR, PAGE_KEY, github.token("planted"), slack.TOKEN, ntfy.TOKEN, gotify.TOKEN)
            if secret not in used
        ] == []
    assert len(factors) == 1
    kept = [site.environment[name] for name in ("SECRET_KEY", "ENCRYPTION_KEYS")]
    found = [(where, planted) for where, text in written for planted in PLANTED + factors + kept if planted in text]
    assert found == []
    assert len({where for where, _ in written}) > 30  # tables, pages, keys, mails and three logs were read


def _play(
    site: Installation,
    hook: HTTPReceiver,
    moved: HTTPReceiver,
    topics: HTTPReceiver,
    push: HTTPReceiver,
    pages: HTTPReceiver,
) -> Iterator[tuple[str, str]]:
    """What the pages said at the end; and once `_FACTOR`, with the secret of a second factor."""
    title = "Planted"
    headers = f"Authorization: Bearer {HEADERS[0]}\nX-Api-Key: {HEADERS[1]}"
    dead_end = f"http://127.0.0.1:{closed_port()}/hook?token={QUERIES[2]}"
    with closing(Person(site.url, "Ada", "ada@example.org", PASSWORD, "Europe/Berlin")) as ada:
        ada.add("webhook", "Hook", url=f"{hook.url}/hook?token={QUERIES[0]}", secret=SIGNING, headers=headers)
        ada.add("webhook", "Moved", url=f"{moved.url}/hook?token={QUERIES[1]}", secret=SIGNING)
        ada.add("webhook", "Away", url=dead_end, secret=SIGNING)
        ada.add("telegram", "Bot", token=telegram.TOKEN, chat="1")
        ada.add("telegram", "Wrong bot", token=WRONG_TOKEN, chat="1")
        ada.add("discord", "Chat", url=f"https://discord.com/api/webhooks/100000000000000001/{WEBHOOK_TOKEN}")
        ada.add("slack", "Team", url=f"https://hooks.slack.com/services/{slack.WEBHOOK}")
        ada.add("ntfy", "Topic", server=topics.origin, topic=ntfy.PROTECTED, token=ntfy.TOKEN)
        ada.add("apprise", "Push", url=f"{push.origin.replace('http', 'gotify')}/{gotify.TOKEN}")
        ada.add("email", "Mail", address="ada@example.net")
        site.rows("UPDATE notifications_channel SET verified_at = now() RETURNING id")  # those that fail as well
        ada.connect("github", "Code", token=github.token("planted"))
        ada.connect("calendar", "Family", url=f"{pages.origin}/{CALENDAR}.ics")
        ada.connect("address", "Prices", url=f"{pages.origin}/prices", headers=f"X-Key: {PAGE_KEY}")
        ada.remind("A check", datetime.now(UTC) + timedelta(hours=1))
        site.rows(
            "UPDATE schedules_schedule SET job_kind = 'github_streak', job_payload = '{}', connection_id = c.id,"
            " next_fire_at = now()"
            " FROM jobs_connection c WHERE c.kind = 'github' RETURNING c.id"
        )
        ada.remind(title, datetime.now(UTC) + timedelta(seconds=2))

        def tried() -> bool:
            said = outcome(site, title)
            return said is not None and len(said.sent) == 11 and all(sent.attempts for sent in said.sent)

        wait_until(tried, "a try on each channel", within=120)
        checked = "SELECT id FROM jobs_job WHERE state = 'decided' AND reason_code LIKE 'github-streak%%'"
        wait_until(lambda: site.rows(checked), "a check of GitHub", within=120)
        yield from _pages(ada._browser, "/reminders/")
        for path in LINKED:
            with suppress(DemoFailed):  # none of them is right
                ada._browser.open(path)
        with closing(Operator(site, "operator@example.org", OPERATORS)) as operator:
            yield _FACTOR, _set_up_factor(operator._browser)
            yield from _pages(operator._browser, "/admin/")


def _set_up_factor(browser: Browser) -> str:
    page = browser.open("/account/second-factor/totp/activate/")
    secret = page.source.partition("<code>")[2].partition("</code>")[0].replace(" ", "")
    browser.send(page, page.form("code").fill(code=factor.code(secret)))
    return secret


def _pages(browser: Browser, start: str) -> Iterator[tuple[str, str]]:
    """Every page that links lead to, up to a bound."""
    seen, ahead = {start}, [start]
    while ahead and len(seen) < 400:
        path = ahead.pop(0)
        try:
            page = browser.open(path)
        except DemoFailed as failure:
            yield f"page {path}", str(failure)
            continue
        yield f"page {path}", page.source
        for _, link in page.links:
            address = requests.compat.urljoin(page.address, link).partition("#")[0]  # type: ignore[attr-defined]
            path = address.removeprefix(browser.address)
            if address.startswith(browser.address) and path not in seen and len(seen) < 120:
                seen.add(path)
                ahead.append(path)


def _tables(site: Installation) -> Iterator[tuple[str, str]]:
    """Every row of every table as text; sessions opened, for they are only signed."""
    with psycopg.connect(site.database_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            rows = connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)))
            yield from ((f"table {table}", row) for (row,) in rows)
        for (data,) in connection.execute("SELECT session_data FROM people_session"):
            opened = signing.loads(
                data,
                key=site.environment["SECRET_KEY"],
                salt="django.contrib.sessions.SessionStore",
                serializer=JSONSerializer,
            )
            yield "session", str(opened)


def _broker(site: Installation) -> Iterator[tuple[str, str]]:
    with Redis.from_url(site.redis_url, decode_responses=True) as broker:
        read: dict[str, Any] = {
            "string": broker.get,
            "list": lambda key: broker.lrange(key, 0, -1),
            "hash": broker.hgetall,
            "set": broker.smembers,
            "zset": lambda key: broker.zrange(key, 0, -1),
        }
        for key in broker.scan_iter():
            if (kind := broker.type(key)) != "none":  # it has expired meanwhile
                yield f"key {key}", f"{key} {read[kind](key)}"
