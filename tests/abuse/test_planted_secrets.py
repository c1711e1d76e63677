"""Secrets are planted, a whole play goes over real processes, and all that it wrote is searched for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
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
from demo.ledger import account
from demo.operator import Operator
from demo.person import Person
from demo.stage import Stage, StageFailed, wait_until
from tests.providers.making import closed_port
from tests.receivers import HTTPReceiver, Reply, SMTPReceiver, telegram

pytestmark = pytest.mark.journey

PASSWORD, OPERATORS = "planted-passphrase-of-ada", "planted-passphrase-of-the-operator"
SIGNING = "whsec_cGxhbnRlZHBsYW50ZWRwbGFudGVkcGxhbnRlZA=="
QUERIES = ["planted-query-one", "planted-query-two", "planted-query-three"]
WRONG_TOKEN = "654321:planted-wrong-planted-wrong-planted-x"
WEBHOOK_TOKEN = "planted-" + "w" * 60
PLANTED = [PASSWORD, OPERATORS, SIGNING, *QUERIES, telegram.TOKEN, WRONG_TOKEN, WEBHOOK_TOKEN]


def test_the_planted_secrets_are_nowhere() -> None:
    with (
        SMTPReceiver() as post,
        HTTPReceiver() as hook,
        HTTPReceiver(Reply(404)) as moved,
        HTTPReceiver() as bots,
        HTTPReceiver(Reply(500, body=b"planted? no")) as chat,
    ):
        bots.answer = telegram.answer
        services = {
            "EMAIL_URL": post.url,
            "TELEGRAM_URL": bots.origin,
            "DISCORD_URL": chat.origin,
            "LOG_LEVEL": "DEBUG",
        }
        with Stage("test_planted", **services) as stage:
            stage.start(stage.web, stage.worker, stage.beat)
            written = [(f"log of {name}", line) for name, line in _play(stage, hook, moved)]
            stage.stop(stage.beat, stage.worker)
            written += [(f"log of {name}", line) for name, lines in stage.logs.items() for line in lines]
            written += list(_tables(stage))
            written += list(_broker(stage))
            written += [("mail", mail.message.as_string()) for mail in post.mails]
        assert [r for r in bots.requests if telegram.TOKEN in r.path], "the play did not use what it planted"
        assert {planted for planted in QUERIES[:2] for r in (*hook.requests, *moved.requests) if planted in r.path}
    found = [(where, planted) for where, text in written for planted in PLANTED if planted in text]
    assert found == []
    assert len({where for where, _ in written}) > 30  # tables, pages, keys, mails and three logs were read


def _play(stage: Stage, hook: HTTPReceiver, moved: HTTPReceiver) -> Iterator[tuple[str, str]]:
    """What the pages said at the end."""
    title = "Planted"
    dead_end = f"http://127.0.0.1:{closed_port()}/hook?token={QUERIES[2]}"
    with closing(Person(stage.url, "Ada", "ada@example.org", PASSWORD, "Europe/Berlin")) as ada:
        ada.add("webhook", "Hook", url=f"{hook.url}/hook?token={QUERIES[0]}", secret=SIGNING)
        ada.add("webhook", "Moved", url=f"{moved.url}/hook?token={QUERIES[1]}", secret=SIGNING)
        ada.add("webhook", "Away", url=dead_end, secret=SIGNING)
        ada.add("telegram", "Bot", token=telegram.TOKEN, chat="1")
        ada.add("telegram", "Wrong bot", token=WRONG_TOKEN, chat="1")
        ada.add("discord", "Chat", url=f"https://discord.com/api/webhooks/100000000000000001/{WEBHOOK_TOKEN}")
        stage.rows("UPDATE notifications_channel SET verified_at = now() RETURNING id")  # those that fail as well
        ada.remind(title, datetime.now(UTC) + timedelta(seconds=2))

        def tried() -> bool:
            said = account(stage, title)
            return said is not None and len(said.sent) == 7 and all(sent.attempts for sent in said.sent)

        wait_until(tried, "a try on each channel", within=30)
        yield from _pages(ada._browser, "/reminders/")
        with closing(Operator(stage, "operator@example.org", OPERATORS)) as operator:
            yield from _pages(operator._browser, "/admin/")


def _pages(browser: Browser, start: str) -> Iterator[tuple[str, str]]:
    """Every page that links lead to, up to a bound."""
    seen, ahead = {start}, [start]
    while ahead and len(seen) < 400:
        path = ahead.pop(0)
        try:
            page = browser.open(path)
        except StageFailed as failure:
            yield f"page {path}", str(failure)
            continue
        yield f"page {path}", page.source
        for _, link in page.links:
            address = requests.compat.urljoin(page.address, link).partition("#")[0]  # type: ignore[attr-defined]
            path = address.removeprefix(browser.address)
            if address.startswith(browser.address) and path not in seen and len(seen) < 120:
                seen.add(path)
                ahead.append(path)


def _tables(stage: Stage) -> Iterator[tuple[str, str]]:
    """Every row of every table as text; sessions opened, for they are only signed."""
    with psycopg.connect(stage.database_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            rows = connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)))
            yield from ((f"table {table}", row) for (row,) in rows)
        for (data,) in connection.execute("SELECT session_data FROM django_session"):
            opened = signing.loads(
                data,
                key=stage.environment["SECRET_KEY"],
                salt="django.contrib.sessions.SessionStore",
                serializer=JSONSerializer,
            )
            yield "session", str(opened)


def _broker(stage: Stage) -> Iterator[tuple[str, str]]:
    with Redis.from_url(stage.redis_url, decode_responses=True) as broker:
        read: dict[str, Any] = {
            "string": broker.get,
            "list": lambda key: broker.lrange(key, 0, -1),
            "hash": broker.hgetall,
            "set": broker.smembers,
            "zset": lambda key: broker.zrange(key, 0, -1),
        }
        for key in broker.scan_iter():
            yield f"key {key}", f"{key} {read[broker.type(key)](key)}"
