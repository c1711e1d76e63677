"""What SQL may write into the rows of a person fails none of their pages and no GET of the API."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from http.cookies import SimpleCookie
from typing import Any

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import connection, models, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg.errors import CheckViolation
from pytest_django import Settings

from common.uuid7 import uuid7
from events.models import Digest, Effect, Event, Rule
from jobs.models import Batch, BatchAttempt, Job, JobAttempt, Leaver, Memory, Part
from people.account import rows
from people.models import AddressChange, CalendarFeed, SecurityEvent, User
from schedules.firing import fire
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.db.conftest import undone
from tests.db.every_url import every_operation, every_url, values_of
from tests.db.test_damaged_admin import unguard
from tests.make import NINE, make_user, send_now, signed_in

HTML = "text/html; charset=utf-8"
APPS = ("people", "work", "notifications", "events", "jobs", "schedules", "watches", "api")
DAMAGES: dict[type[models.Field[Any, Any]], list[str]] = {
    models.DateTimeField: ["'-infinity'", "'9999-12-31 23:59:59Z'"],
    models.JSONField: [
        "(repeat('[', 3000) || repeat(']', 3000))::jsonb", "(repeat('9', 5000))::jsonb", "'null'", "'5'"
    ],
}  # fmt: skip

Ask = Callable[[], HttpResponse]


def sql(statement: str) -> None:
    """Past the check of the order of locks, which is for the product."""
    connection.connection.cursor().execute(statement)


def fill(ada: User) -> dict[str, object]:
    """A row of hers in each table; what names them in addresses."""
    values = values_of(ada)
    fire.fire_due(NINE)
    for delivery in ada.channels.get(provider="inbox").deliveries.filter(state="pending"):
        send_now(delivery.id)
    event, rule, batch, job = (model.objects.filter(user=ada)[0] for model in (Event, Rule, Batch, Job))
    digest = Digest.objects.create(user=ada, rule=rule, type_pattern="order.*")
    Effect.objects.create(event=event, rule=rule, outcome="digested", digest=digest)
    begun = {"replay": 0, "number": 1, "token": uuid7(), "started_at": NINE}
    BatchAttempt.objects.create(batch=batch, **begun)
    JobAttempt.objects.create(job=job, **begun)
    Part.objects.create(batch=batch, first=1, last=2)
    Memory.objects.create(origin_id=Schedule.objects.filter(user=ada)[0].id, user=ada)
    Leaver.objects.create(origin_id=values["announcement_id"], user=ada)
    CalendarFeed.objects.create(user=ada, hashed="x", sealed_secrets="x")
    AddressChange.objects.create(user=ada, old_email="old@example.org", new_email=ada.email)
    SecurityEvent.objects.create(user=ada, type="signed-in")
    return values


def every_get(ada: User, values: dict[str, object]) -> dict[str, Ask]:
    client, api = signed_in(ada), Api(ada, damaged=True)
    client.raise_request_exception, api._client = False, Client(raise_request_exception=False)
    cookies = {name: one.value for name, one in client.cookies.items()}

    def page(path: str) -> Ask:
        def get() -> HttpResponse:
            client.cookies = SimpleCookie(cookies)
            return client.get(path)

        return get

    found = {}
    for url in every_url():
        if not url.name.startswith(("api:", "api3:")) and not url.template.startswith(("/admin/", "/healthz")):
            found[url.name] = page(url.path(values))
    for one in every_operation():
        if one.method == "GET":
            found[f"api {one.name}"] = partial(api.get, one.path(values))
    return found


def write_everywhere(value: str, kind: type[models.Field[Any, Any]]) -> tuple[list[str], list[str]]:
    """Into each column of this kind. Returns those that took it, and those whose table refused it."""
    taken, refused = [], []
    for model in [model for app in APPS for model in apps.get_app_config(app).get_models() if not model._meta.proxy]:
        for column in [one.column for one in model._meta.concrete_fields if isinstance(one, kind)]:
            found = taken
            try:
                with transaction.atomic():
                    sql(f'UPDATE {model._meta.db_table} SET "{column}" = {value}')  # noqa: S608
            except CheckViolation:
                found = refused
            if model._base_manager.exists():
                found.append(f"{model._meta.db_table}.{column}")
    return taken, refused


_tables: dict[str, set[str]] = {}


def tables_of(asked: dict[str, Ask]) -> dict[str, set[str]]:
    """The tables that each page reads, while no row is damaged; found by the first test that needs them."""
    if not _tables:
        answers = Counter[int]()
        for name, ask in asked.items():
            with undone(), CaptureQueriesContext(connection) as statements:
                answers[ask().status_code] += 1
            _tables[name] = set(re.findall(r"\w+", " ".join(one["sql"] for one in statements.captured_queries)))
        assert answers[200] > 100 and max(answers) < 500
    return _tables


def test_no_page_fails_beside_what_sql_can_write(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    ada = make_user(email="ada@example.org")
    asked = every_get(ada, fill(ada))
    reads = tables_of(asked)
    for value, kind in [(value, kind) for kind, values in DAMAGES.items() for value in values]:
        with undone():
            taken, refused = write_everywhere(value, kind)
            assert len(refused) > 10
            tables, wrong = {column.partition(".")[0] for column in taken}, []
            for name in [name for name, read in reads.items() if read & tables]:
                with undone():
                    status = asked[name]().status_code
                wrong += [(name, status)] if status >= 500 else []
            assert wrong == [], f"{value} in {taken}"


# Past what refuses it: of a row that is older than its triggers.
OLD_DAMAGES: dict[type[models.Field[Any, Any]], list[str]] = {
    models.DateTimeField: ["'-infinity'"],
    models.JSONField: ["(repeat('[', 3000) || repeat(']', 3000))::jsonb", "'5'"],
}


def damaged_once(model: type[models.Model]) -> Iterator[str]:
    """With its rows damaged in all columns of a type; yields the value."""
    with undone():
        unguard(model)
        for kind, values in OLD_DAMAGES.items():
            # A session or token that has ended asks nothing.
            columns = [
                f.column
                for f in model._meta.concrete_fields
                if isinstance(f, kind) and f.column not in ("expire_date", "expires_at", "revoked_at")
            ]
            for value in values if columns else ():
                with undone():
                    sql(f"UPDATE {model._meta.db_table} SET {', '.join(f'{column} = {value}' for column in columns)}")  # noqa: S608
                    yield value


def test_a_page_that_needs_a_damaged_row_names_it_and_says_who_can_correct_it(settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    ada = make_user(email="ada@example.org")
    asked = every_get(ada, fill(ada))
    Authenticator.objects.create(user=ada, type="totp", data={"secret": "x"})
    reads = tables_of(asked)
    wrong, named = [], Counter[bool]()
    for model in rows.tables():
        table = model._meta.db_table
        for value in damaged_once(model):
            names = [name for name, tables in reads.items() if table in tables]
            for name in names[:: 1 + len(names) // 5]:  # that of the person is read by all
                with undone():
                    answer = asked[name]()
                if answer.status_code >= 500:
                    wrong.append((table, value[:12], name))
                elif answer.status_code == 409:
                    text = answer.content.decode()
                    assert "docs/reliability.md" in text, name
                    named[table in text and (name.startswith("api") == (answer["Content-Type"] != HTML))] += 1
    assert wrong == []
    assert named[True] > 60 and not named[False]
